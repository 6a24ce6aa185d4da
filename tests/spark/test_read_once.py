"""Sources that give other rows, or another order, each time they are read; tasks that run again."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tests.effort import THOROUGH
from tests.spark.routes import WORKER, with_worker

import unskew
from unskew._spark.frames.physical_plan import in_fixed_order, is_replayable
from unskew.partitioners import ALL

pytestmark = pytest.mark.spark

ONLINE = [
    name
    for name, scheme in ALL.items()
    if scheme(workers=5).static is None and not scheme(workers=5).coordinated
][:: 1 if THOROUGH else 4]
"""The rows are put in order before any router sees them: a few routers show it."""


def in_any_order(batches):
    """A task that gives its rows in another order each time it runs."""
    for batch in batches:
        ids = batch.column(0).to_pylist()
        random.shuffle(ids)
        yield pa.record_batch({"id": ids, "key": [f"key-{min(each % 7, 3)}" for each in ids]})


@pytest.fixture(scope="module")
def unordered(spark):
    return spark.range(0, 4000, 1, 4).mapInArrow(in_any_order, "id bigint, key string")


def routes(rows, partitioner):
    found = with_worker(rows, "key", partitioner).select("id", WORKER).collect()
    return dict(map(tuple, found))


@pytest.mark.parametrize("scheme", ONLINE)
def test_a_task_that_runs_again_agrees_with_itself(unordered, scheme):
    """Whatever is cached, joined or recomputed: a row goes where it went before."""
    partitioner = ALL[scheme](workers=5)
    assert routes(unordered, partitioner) == routes(unordered, partitioner)


def test_draws_by_position_repeat(unordered, spark):
    alike = unordered.select(F.lit("hot").alias("key"))
    plan = unskew.plan(alike, "key", 4)
    assert plan.route.draw == "position"
    twice = [
        Counter(map(tuple, plan.with_worker(alike).select(WORKER).collect())) for _ in range(2)
    ]
    assert twice[0] == twice[1]


def test_which_plans_repeat_their_order(spark, unordered, tmp_path):
    unordered.write.parquet(str(tmp_path / "rows"))
    read = spark.read.parquet(str(tmp_path / "rows"))
    assert is_replayable(read.filter("id > 3").withColumn("x", F.col("id") + 1))
    assert is_replayable(spark.range(3))
    lines = F.regexp_replace("key", "\n", "\r\n")
    assert is_replayable(read.withColumn("key", lines))
    assert not is_replayable(read.withColumn("key", lines).repartition(3))
    assert is_replayable(read.select(F.explode(F.array("id", "id")).alias("each"), "key"))
    assert not is_replayable(read.repartition(3, "key").select(F.explode(F.array("id"))))
    assert not is_replayable(read.repartition(3, "key"))
    assert not is_replayable(read.repartition(3, "key").cache())
    assert not is_replayable(unordered)
    assert not is_replayable(read.mapInArrow(lambda batches: batches, read.schema))
    assert in_fixed_order(read) is read


@pytest.mark.classic("Spark Connect has no RDDs")
def test_rows_of_an_rdd_have_no_order_that_is_known(spark):
    numbers = spark.sparkContext.parallelize([(1,), (2,)], 2)
    assert not is_replayable(spark.createDataFrame(numbers, "id bigint"))


def test_rows_without_a_plain_order(spark):
    rows = spark.sql(
        "select id, map('a', id) m, parse_json('{\"a\": 1}') v, array(-0.0D, 0.0D) f, x'ff' b "
        "from range(20)"
    ).repartition(2, "id")
    assert sorted(row["id"] for row in in_fixed_order(rows).select("id").collect()) == [*range(20)]


def test_a_map_reads_its_rows_once(unordered):
    mapped = unskew.mapInArrow(
        unordered, lambda batches: batches, unordered.schema, cost_key="key", workers=3
    )
    assert sorted(row["id"] for row in mapped.collect()) == [*range(4000)]


def test_rows_that_pass_a_filter_by_chance_are_judged_once(spark):
    chance = "cast(reflect('java.lang.Math', 'random') as double) < 0.5"
    rows = spark.range(0, 4000, 1, 4).filter(chance).withColumn("key", F.col("id") % 5)
    mapped = unskew.mapInArrow(
        rows, lambda batches: batches, rows.schema, cost_key="key", workers=3
    )
    seen = Counter(row["id"] for row in mapped.collect())
    assert max(seen.values()) == 1


@pytest.mark.parametrize("how", ["left", "full"])
def test_an_outer_join_loses_no_row_to_a_side_that_changes(spark, how):
    left = spark.range(40).withColumn("key", F.lit("hot")).withColumnRenamed("id", "mine")

    def sometimes(batches):
        for batch in batches:
            if random.random() < 0.5:
                yield pa.record_batch({"id": batch.column(0), "key": ["hot"] * batch.num_rows})

    for _ in range(3):
        right = spark.range(0, 600, 1, 2).mapInArrow(sometimes, "id bigint, key string")
        joined = unskew.join(left, right, "key", how=how, workers=4, scheme="planned-split")
        pairs = Counter(row["mine"] for row in joined.collect() if row["mine"] is not None)
        assert set(pairs) == set(range(40))
        assert len(set(pairs.values())) == 1
