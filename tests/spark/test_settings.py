"""Every setting of every scheme runs on Spark as it is given, or is refused before any job."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pyspark.sql import functions as F
from tests.documents import tool

import unskew
from unskew._spark.planning.request import RoutingRequest
from unskew.errors import (
    NeedError,
    ParameterError,
    ParameterTypeError,
    UnknownNameError,
    UnskewError,
)
from unskew.partitioners import (
    PLANNED,
    ConsistentGrouping,
    KeyGrouping,
    PartialKey,
    PlannedSplit,
    RandomChoices,
    RoutingTable,
)
from unskew.sketches.key_counts import KeyCounts
from unskew.testing import assert_same_result, one_hot_key

pytestmark = pytest.mark.spark

TABLE = tool("scheme_settings")
WORKERS = TABLE.WORKERS


@pytest.fixture(scope="module")
def rows(spark):
    return one_hot_key(spark, rows=2_000, keys=20, share=0.5).select("key", "id").cache()


@pytest.fixture(scope="module")
def unread(spark):
    """Rows that fail any job."""
    return spark.range(10).select(F.raise_error(F.lit("read")).cast("bigint").alias("key"))


@pytest.fixture(scope="module")
def stream(spark):
    return spark.readStream.format("rate").load()


def outcome(ask, example):
    """What the table says of a partitioner that runs, or of an error."""
    try:
        made = ask()
    except UnskewError:
        return "no"
    assert made == example.partitioner
    return "yes"


def in_table(answer):
    return "no" if answer.startswith("no,") else "yes"


def ways(example):
    """The setting beside the scheme's name, and in a partitioner."""
    named = {"workers": WORKERS, "scheme": example.scheme, **example.given}
    return [{"scheme": example.partitioner}, *([] if example.scheme in PLANNED else [named])]


def asked(rows, need, scheme, workers=None, **settings):
    request = RoutingRequest.of(
        rows, "key", need=need, workers=workers, scheme=scheme, settings=settings
    )
    return request.plan().partitioner


def test_a_batch_runs_with_the_setting_or_refuses_it(unread):
    for example in TABLE.examples():
        for way in ways(example):
            found = outcome(partial(asked, unread, example.partitioner.need, **way), example)
            assert found == in_table(TABLE.on_batch(example)), example


def test_a_stream_runs_with_the_setting_or_refuses_it(stream):
    def routed(way):
        return unskew.streaming.groupBy(stream, "value", **way).request.decide().route.partitioner

    for example in TABLE.examples():
        answer = TABLE.on_stream(example)
        for way in ways(example):
            found = outcome(partial(routed, way), example)
            assert found == ("no" if answer == "`replanned`" else in_table(answer)), example


@pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's")
def test_replanned_takes_every_setting_of_consistent_grouping(stream, tmp_path):
    def planned(**way):
        grouped = unskew.streaming.groupBy(stream, "value", **way)
        return grouped.replanned(str(tmp_path), n=unskew.count()).planner.partitioner()

    for example in TABLE.examples():
        if example.scheme == "cg":
            for way in ways(example):
                for name, value in example.given.items():
                    assert np.array_equal(getattr(planned(**way), name), value)
    assert planned(scheme="cg", workers=4, virtual=7).owners.size == 28
    assert planned(scheme="pkg", choices=3, workers=4) == PartialKey(4, choices=3)


def test_names_and_partitioners_say_the_same(rows):
    named = unskew.plan(rows, "key", 8, scheme="porc", epsilon=3.0)
    assert named.partitioner == RandomChoices(8, epsilon=3.0)
    whole = unskew.plan(rows, "key", scheme=RandomChoices(8, epsilon=3.0), sample=0.9)
    assert whole.partitioner == named.partitioner
    assert named.forecast.max_over_mean > 2  # and not 1.01, as with its default
    both = [
        unskew.groupBy(rows, "key", workers=8, scheme="pkg", choices=5),
        unskew.groupBy(rows, "key", scheme=PartialKey(8, choices=5)),
    ]
    for grouped in both:
        found = grouped.agg(n=unskew.count(), least=unskew.min("id"))
        assert_same_result(
            found, rows.groupBy("key").agg(F.count("*").alias("n"), F.min("id").alias("least"))
        )
    placed = unskew.repartition(rows, "key", scheme="pkg", choices=5, need="mergeable", workers=8)
    parts = placed.where("key = 'key-0'").select(F.spark_partition_id()).distinct().count()
    assert parts == 5


def test_joins_and_cogroups_take_partitioners(rows):
    other = rows.select("key").distinct()
    for given in ({"scheme": "ring", "replicas": 3, "workers": 4}, {"scheme": KeyGrouping(4)}):
        assert_same_result(unskew.join(rows, other, "key", **given), rows.join(other, "key"))
    with pytest.raises(NeedError, match="in a join also planned-split"):
        unskew.join(rows, other, "key", scheme=PartialKey(4))
    left = unskew.groupBy(rows, "key", scheme=KeyGrouping(4))
    left.cogroup(unskew.groupBy(rows, "key"))
    with pytest.raises(ParameterError, match="give workers, scheme and settings to the left"):
        left.cogroup(unskew.groupBy(rows, "key", scheme=KeyGrouping(5)))


def test_a_table_of_the_users_own_is_followed(spark):
    rows = spark.range(0, 1000, 1, 2).select(F.lit(7).cast("bigint").alias("key"))
    (key,) = rows.select(F.xxhash64("key")).first()
    hot = np.array([key], dtype=np.int64).view(np.uint64)
    table = RoutingTable(4, hot, np.array([2], dtype=np.int32))
    placed = unskew.repartition(rows, "key", scheme=table)
    assert {row[0] for row in placed.select(F.spark_partition_id()).collect()} == {2}
    split = PlannedSplit(4, counts=KeyCounts(hot, np.array([1000])))
    with pytest.raises(NeedError, match="planned-split does not guarantee whole-key"):
        unskew.repartition(rows, "key", scheme=split)
    # All rows are alike: only their position can tell them apart.
    placed = unskew.repartition(rows, "key", scheme=split, need="mergeable")
    sizes = [row["count"] for row in placed.groupBy(F.spark_partition_id()).count().collect()]
    assert len(sizes) == 4
    assert max(sizes) < 350


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"scheme": "cg", "capacities": [1] * 8}, UnknownNameError, "no setting of cg 'capac"),
        ({"scheme": "pkg", "sample": 0.5}, UnknownNameError, "no setting of pkg 'sample'"),
        ({"scheme": "auto", "choices": 5}, UnknownNameError, "no setting 'choices'"),
        ({"scheme": "in-place", "epsilon": 0.1}, ParameterError, "in-place .* remove epsilon"),
        ({"scheme": "routing-table", "keys": [1]}, ParameterError, r"RoutingTable\(workers, keys"),
        ({"scheme": PartialKey(8), "choices": 3}, ParameterError, r"give choices to PartialKey\("),
        ({"scheme": PartialKey(8), "workers": 4}, ParameterError, "the partitioner has workers=8"),
        ({"scheme": PartialKey}, ParameterTypeError, "not a partitioner"),
        ({"scheme": "pkg", "choices": "5"}, ParameterTypeError, "choices='5' is of type str"),
        ({"scheme": ConsistentGrouping(8, eager=False)}, ParameterError, "eager=False of cg says"),
    ],
)
def test_what_has_no_effect_is_refused_before_any_job(unread, given, error, message):
    with pytest.raises(error, match=message):
        unskew.groupBy(unread, "key", **given)


@pytest.mark.parametrize(
    "scheme", ["static-two-choices", "online-greedy", PartialKey(8, estimate="global")]
)
def test_plan_counts_no_keys_for_what_cannot_run(unread, scheme):
    with pytest.raises(NeedError, match="one router shared by all sources"):
        unskew.plan(unread, "key", scheme=scheme)


def test_consistent_grouping_without_signals_says_what_it_is(rows, stream):
    assert "it is porc over virtual workers" in unskew.plan(rows, "key", 4, scheme="cg").why
    grouped = unskew.streaming.groupBy(stream, "value", workers=4, scheme="cg")
    assert "it is porc over virtual workers" in grouped.request.decide().why
