"""Every verb passes one door: the same request gets the same answer everywhere."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import unskew
from unskew._spark.frames.physical_plan import is_replayable
from unskew.errors import (
    KeyTypeError,
    NeedError,
    ParameterError,
    ParameterTypeError,
    UnknownNameError,
)
from unskew.testing import assert_same_result, one_hot_key

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rows(spark):
    return one_hot_key(spark, rows=2_000, keys=20, share=0.5).select("key", "id").cache()


def both(left, right):
    return pa.table({"left": [left.num_rows], "right": [right.num_rows]})


def plain_cogroup(left, right):
    return left.groupBy("key").cogroup(right.groupBy("key")).applyInArrow(both, SCHEMA)


SCHEMA = "left bigint, right bigint"
SPEEDS = [1, 1, 1, 3]


def test_cogroup_takes_capacities(rows):
    left = unskew.groupBy(rows, "key", workers=4, capacities=SPEEDS)
    got = left.cogroup(unskew.groupBy(rows, "key")).applyInArrow(both, SCHEMA)
    assert_same_result(got, plain_cogroup(rows, rows))


@pytest.mark.parametrize("scheme", ["routing-table", "planned-split"])
def test_join_takes_capacities(rows, scheme):
    other = rows.select("key").distinct()
    got = unskew.join(rows, other, "key", workers=4, scheme=scheme, capacities=SPEEDS)
    assert_same_result(got, rows.join(other, "key"))
    plan = unskew.plan_join(rows, other, "key", workers=4, scheme=scheme, capacities=SPEEDS)
    assert plan.workers == 4


@pytest.mark.parametrize("scheme", ["auto", "routing-table", "planned-split"])
def test_wrong_capacities_are_refused_everywhere(rows, scheme):
    wrong = {"workers": 4, "scheme": scheme, "capacities": [1, 1, 1, "x"]}
    for call in (
        lambda: unskew.join(rows, rows, "key", **wrong),
        lambda: unskew.plan_join(rows, rows, "key", **wrong),
        lambda: unskew.groupBy(rows, "key", **wrong),
        lambda: unskew.repartition(rows, "key", need="mergeable", **wrong),
        lambda: unskew.plan(rows, "key", **wrong),
    ):
        with pytest.raises(ParameterError, match="4 numbers above 0"):
            call()


def test_a_plan_for_another_key_is_refused_everywhere(rows):
    plan = unskew.plan(rows, "id", 4, need="whole-key")
    for call in (
        lambda: unskew.groupBy(rows, "key", scheme=plan),
        lambda: unskew.join(rows, rows, "key", scheme=plan),
        lambda: unskew.repartition(rows, "key", scheme=plan),
    ):
        with pytest.raises(ParameterError, match=r"the plan is for the key \('id',\)"):
            call()


def test_a_plan_for_another_type_of_the_key_is_refused(rows):
    plan = unskew.plan(rows, "id", 4, need="whole-key")
    cast = rows.withColumn("id", rows["id"].cast("int"))
    for call in (
        lambda: unskew.groupBy(cast, "id", scheme=plan),
        lambda: plan.apply(cast),
    ):
        with pytest.raises(ParameterError, match="id of type bigint, but the rows have int"):
            call()


def test_the_right_side_of_a_cogroup_takes_the_left_sides_route(rows):
    left = unskew.groupBy(rows, "key", workers=4, scheme="kg")
    same = unskew.groupBy(rows, "key", workers=4, scheme="kg")
    assert left.cogroup(same).applyInArrow(both, SCHEMA).count() > 0
    for wrong in ({"scheme": "pkg"}, {"workers": 7}, {"epsilon": 0.1}):
        with pytest.raises(ParameterError, match="give workers, scheme and settings to the left"):
            left.cogroup(unskew.groupBy(rows, "key", **wrong))
    with pytest.raises(ParameterTypeError, match=r"unskew\.groupBy"):
        left.cogroup(rows.groupBy("key"))


def test_groups_that_cannot_be_are_refused_before_any_job(spark, rows):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ParameterError, match=r"unskew\.streaming\.groupBy"):
        unskew.groupBy(stream, "value")
    with pytest.raises(UnknownNameError, match="no column 'kye'"):
        unskew.groupBy(rows, "kye")
    maps = rows.select(F.create_map("key", "id").alias("m"), F.col("key").alias("k"))
    for key in ("m", F.struct("m"), F.array("m")):
        with pytest.raises(KeyTypeError, match="Spark cannot group by maps"):
            unskew.groupBy(maps, key)
    with pytest.raises(KeyTypeError, match="Spark cannot group by maps"):
        unskew.groupBy(maps, "k").cogroup(unskew.groupBy(maps, "m"))


def test_what_is_no_scheme_is_refused(rows):
    with pytest.raises(UnknownNameError):
        unskew.groupBy(rows, "key", scheme="pgk")
    with pytest.raises(ParameterTypeError, match="scheme"):
        unskew.groupBy(rows, "key", scheme=7)
    with pytest.raises(
        NeedError, match=r"these schemes do: kg, ring, weighted-kg, routing-table, offline"
    ):
        unskew.repartition(rows, "key", scheme="pkg")


def test_a_join_can_be_explained(rows, capsys):
    plan = unskew.plan_join(rows, rows, "key", workers=4, scheme="planned-split")
    plan.explain()
    printed = capsys.readouterr().out
    assert "planned-split for a join by key" in printed
    hot = rows.groupBy("key").count().orderBy(F.desc("count")).first()["key"]
    assert f"\n          {hot}: " in printed
    assert plan.max_over_mean < plan.hashed
    small = rows.select("key").distinct().limit(3)
    assert unskew.plan_join(rows, small, "key").plain


def test_plans_are_read_in_threads(spark, rows, capsys):
    """A plan was read by redirecting the standard output, which threads share."""
    scan, shuffled = spark.range(100), spark.range(100).repartition(3, "id")
    answers: list[tuple[bool, bool]] = []

    def ask() -> None:
        for _ in range(10):
            answers.append((is_replayable(scan), is_replayable(shuffled)))
            print("mine")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(True, False)] * 40
    assert capsys.readouterr().out == "mine\n" * 40
