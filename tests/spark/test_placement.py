"""Rows land on their worker's partition, all of them, once, and unchanged."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import functions as F
from tests.spark.frames import awkward
from tests.spark.routes import WORKER, with_worker

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.physical_plan import physical_plan
from unskew._spark.routing.route import Route, place
from unskew._spark.routing.slots import Pins, pinned_shuffle_conf
from unskew.partitioners import ALL, KeyGrouping

pytestmark = pytest.mark.spark
CLASSIC = pytest.mark.classic("Spark Connect does not tell where rows are kept")


@pytest.mark.parametrize("scheme", ["kg", "ring", "pkg", "porc", "sg"])
def test_placement_changes_nothing_but_the_partition(spark, scheme):
    rows = awkward(spark, partitions=3)
    key = KeyColumns.of(rows, ["word", "number"])
    placed = Route.of(ALL[scheme](workers=6)).repartition(rows, key)
    assert placed.columns == rows.columns
    with_place = placed.withColumn("place", F.spark_partition_id()).collect()
    assert {row["place"] for row in with_place} <= set(range(6))
    assert Counter(str(row[:-1]) for row in with_place) == Counter(
        str(tuple(row)) for row in rows.collect()
    )


def test_rows_lie_on_the_partition_that_is_their_worker(spark):
    rows = with_worker(awkward(spark, partitions=3), "word", KeyGrouping(6))
    placed = place(rows, WORKER, 6)
    assert placed.where(F.spark_partition_id() != F.col(WORKER)).count() == 0
    assert placed.groupBy(WORKER).count().count() > 1


def test_grouping_by_worker_and_key_needs_no_second_shuffle(spark):
    rows = with_worker(awkward(spark, partitions=3).drop("id"), "word", KeyGrouping(6))
    grouped = place(rows, WORKER, 6).groupBy(WORKER, "word").count()
    assert physical_plan(grouped).count("Exchange shufflepartitionid") == 1
    assert "Exchange hashpartitioning" not in physical_plan(grouped)


@pytest.mark.parametrize("bad", ["6", "-1", "null"])
def test_a_worker_out_of_range_fails_the_job(spark, bad):
    rows = spark.range(4).select(F.expr(f"cast({bad} as int)").alias("w"))
    with pytest.raises(Exception, match=r"worker .* is not in 0..5"):
        place(rows, "w", 6).count()


@CLASSIC
def test_pinned_rows_keep_columns_that_are_called_slot(spark):
    rows = spark.range(40).selectExpr(
        "cast(id % 4 as int) w", "id slot", "id __unskew_slot", "id Slots"
    )
    placed = Pins.of(spark, 4).place(rows, "w")
    assert placed.columns == ["slot", "__unskew_slot", "Slots"]
    found = placed.withColumn("place", F.spark_partition_id()).collect()
    assert sorted(row["slot"] for row in found) == list(range(40))
    assert all(row["slot"] == row["__unskew_slot"] == row["Slots"] for row in found)


@CLASSIC
def test_pinned_workers_keep_their_executors_where_partitions_differ(spark):
    before = Pins.of(spark, 3)
    (executor,) = set(before.executors)
    assert executor
    assert before.partitions == (0, 1, 2)
    grown = Pins.of(spark, 5, before=["elsewhere", *before.executors])
    # The worker that cannot go back takes the partition that the others leave.
    assert grown.partitions == (3, 0, 1, 2, 4)
    rows = spark.range(0, 40, 1, 3).selectExpr("cast(id % 5 as int) w", "cast(id % 5 as int) same")
    with pinned_shuffle_conf(spark, 5):
        found = grown.place(rows, "w").select("same", F.spark_partition_id()).collect()
    assert dict(found) == dict(enumerate(grown.partitions))
