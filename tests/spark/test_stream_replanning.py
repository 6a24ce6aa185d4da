"""Streams whose plan changes between batches: the merged result counts every row once."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote
from tests.spark.frames import SCHEMA, awkward
from tests.spark.streams import read_batches, write_batches
from tests.spark.test_aggregation import PYTHON, check_against_each_group

import unskew
from unskew._spark.streaming.replan import partial_store, planners, trial
from unskew.errors import InputError, ParameterError, StateError, UnskewError
from unskew.partitioners import PartialKey

pytestmark = pytest.mark.spark


def run(merged, folder):
    writer = merged.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_a_changing_plan_counts_every_row_once(spark, tmp_path, monkeypatch):
    stream_of = _stream_of(spark, tmp_path, scheme="planned-split")
    if is_remote():
        with pytest.raises(ParameterError, match="classic session"):
            stream_of(tmp_path / "store")
        return
    monkeypatch.setattr(partial_store, "COMPACT_AFTER", 2)
    rows = [tuple(row) for row in awkward(spark, 160).collect()]
    schema = write_batches(spark, tmp_path / "in", SCHEMA, [rows[:50], rows[50:90]])
    merged = stream_of(tmp_path / "store")
    run(merged, tmp_path)
    assert merged.planner.table is not None
    assert merged.route().partitioner.scheme == "adaptive-split"
    write_batches(spark, tmp_path / "in", SCHEMA, [rows[90:130], rows[130:]])
    again = stream_of(tmp_path / "store")
    run(again, tmp_path)
    read = spark.read.schema(schema).parquet(str(tmp_path / "in"))
    check_against_each_group(read, again.result(), ["word"])
    assert dict(again.result().dtypes)["mean"] == "decimal(16,7)"
    assert [record.batch for record in again.heard] == [2, 3]
    assert sum(again.heard[0].loads) == 40
    with pytest.raises(StateError, match="another checkpoint"):
        stream_of(tmp_path / "store").process(read, 9)


@pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's")
def test_virtual_workers_move_between_batches_and_every_row_counts_once(spark, tmp_path):
    rows = [tuple(row) for row in awkward(spark, 160).collect()]
    write_batches(spark, tmp_path / "in", SCHEMA, [rows[:70], rows[70:90], [], rows[90:]])
    merged = _stream_of(spark, tmp_path, scheme="cg")(tmp_path / "store")
    run(merged, tmp_path)
    schema = spark.createDataFrame([], SCHEMA).schema
    read = spark.read.schema(schema).parquet(str(tmp_path / "in"))
    check_against_each_group(read, merged.result(), ["word"])
    assert merged.route().partitioner.scheme == "cg"
    assert sum(sum(record.loads) for record in merged.heard) == 160


@pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's")
def test_virtual_workers_stay_where_they_are_after_a_restart(spark, tmp_path, monkeypatch):
    rows = [tuple(row) for row in awkward(spark, 160).collect()]
    owners = [2] * 8 + [0, 1, 1, 0]
    monkeypatch.setattr(planners.VirtualWorkers, "learn", lambda *_: None)
    first = _stream_of(spark, tmp_path, scheme="cg", virtual=4, owners=owners)(tmp_path / "store")
    write_batches(spark, tmp_path / "in", SCHEMA, [rows[:70]])
    run(first, tmp_path)
    again = _stream_of(spark, tmp_path, scheme="cg", virtual=4)(tmp_path / "store")
    assert again.planner.memory.owners.tolist() != owners
    write_batches(spark, tmp_path / "in", SCHEMA, [rows[70:]])
    run(again, tmp_path)
    assert again.planner.memory.owners.tolist() == owners
    assert again.route().partitioner.owners.tolist() == owners


@pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's")
def test_auto_tries_all_strategies_and_every_row_counts_once(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(trial, "UNEQUAL", 0.0)
    monkeypatch.setattr(trial, "TRIAL", 2)
    monkeypatch.setattr(trial, "SMALLER", 2)
    rows = [tuple(row) for row in awkward(spark, 160).collect()]
    cuts = range(0, 160, 20)
    write_batches(spark, tmp_path / "in", SCHEMA, [rows[cut : cut + 20] for cut in cuts])
    merged = _stream_of(spark, tmp_path)(tmp_path / "store")
    run(merged, tmp_path)
    read = spark.read.schema(spark.createDataFrame([], SCHEMA).schema)
    check_against_each_group(read.parquet(str(tmp_path / "in")), merged.result(), ["word"])
    assert [record.workers for record in merged.heard] == [3, 3, 3, 3, 6, 6, 3, 3]
    assert sum(sum(record.loads) for record in merged.heard) == 160


@pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's")
@pytest.mark.parametrize(
    ("scheme", "most"), [("kg", 1), ("sg", 3), (PartialKey(3), 2), ("two-random-choices", 3)]
)
def test_a_scheme_stays_as_it_is_and_every_row_counts_once(spark, tmp_path, scheme, most):
    rows = [tuple(row) for row in awkward(spark, 160).collect()]
    write_batches(spark, tmp_path / "in", SCHEMA, [rows[:90], rows[90:]])
    wish = {"workers": None} if not isinstance(scheme, str) else {}
    merged = _stream_of(spark, tmp_path, scheme=scheme, **wish)(tmp_path / "store")
    run(merged, tmp_path)
    read = spark.read.schema(spark.createDataFrame([], SCHEMA).schema)
    read = read.parquet(str(tmp_path / "in"))
    check_against_each_group(read, merged.result(), ["word"])
    assert merged.planner.pinned
    first, keys = merged.heard[0], {row[1] for row in rows[:90]}
    assert len(keys) <= first.replicas <= most * len(keys)


def _stream_of(spark, folder, **wish):
    def stream_of(store):
        schema = spark.createDataFrame([], SCHEMA).schema
        stream = read_batches(spark, folder / "in", schema)
        heard: list[unskew.streaming.BatchProgress] = []
        grouped = unskew.streaming.groupBy(stream, "word", **{"workers": 3} | wish)
        merged = grouped.replanned(str(store), feeds=[heard.append], **PYTHON)
        return _Heard(merged, heard)

    (folder / "in").mkdir(exist_ok=True)
    return stream_of


class _Heard:
    """A stream with what it told."""

    def __init__(self, merged, heard):
        self.merged, self.heard = merged, heard

    def __getattr__(self, name):
        return getattr(self.merged, name)


@pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's")
def test_what_cannot_be_kept_in_parts_is_refused(spark, tmp_path):
    schema = write_batches(spark, tmp_path / "in", SCHEMA, [])
    stream = read_batches(spark, tmp_path / "in", schema)
    with pytest.raises(ParameterError, match="no partial results to store"):
        unskew.streaming.groupBy(stream, "word").replanned("store", F.sum("id"))
    with pytest.raises(ParameterError, match="cannot count keys in advance, as offline-greedy"):
        unskew.streaming.groupBy(stream, "word", scheme="offline-greedy").replanned(
            "store", n=unskew.count()
        )
    with pytest.raises(ParameterError, match="takes no plan of earlier rows"):
        unskew.streaming.groupBy(stream, "word", history=awkward(spark, 20)).replanned(
            "store", n=unskew.count()
        )
    for scheme, tolerance, why in (("pkg", 0.1, "only cg asks"), ("cg", -1, "below 0")):
        with pytest.raises(ParameterError, match=why):
            unskew.streaming.groupBy(stream, "word", scheme=scheme).replanned(
                "store", tolerance=tolerance, n=unskew.count()
            )
    with pytest.raises(UnskewError, match="sum"):
        unskew.streaming.groupBy(stream, "word").replanned("store", n=unskew.sum("pair"))
    empty = unskew.streaming.groupBy(stream, "word").replanned(
        str(tmp_path / "no"), n=unskew.count()
    )
    with pytest.raises(InputError, match="no batch yet"):
        empty.result()
