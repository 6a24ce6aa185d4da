"""A plan says what it will do, does it, and survives a trip through JSON."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from pyspark.sql import functions as F
from tests.spark.frames import awkward
from tests.spark.routes import WORKER

import unskew
from unskew._spark.frames.keys import KeyColumns
from unskew._spark.planning.cost_model import StageCost
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.statistics import profile_keys
from unskew._spark.routing.route import Route
from unskew.errors import NeedError, ParameterError, UnknownNameError, UnskewError
from unskew.hashing import hash_keys
from unskew.partitioners import KeyGrouping, RoutingTable

pytestmark = pytest.mark.spark

WORKERS = 8


@pytest.fixture(scope="module")
def skewed(spark):
    """Half of 40,000 rows have one key, the others are shared out unevenly among 300."""
    key = F.when(F.col("id") % 2 == 0, 0).otherwise((F.sqrt("id") * 1.5).cast("int"))
    return spark.range(0, 40_000, 1, 3).select("id", F.concat(F.lit("k"), key).alias("key"))


@pytest.fixture(scope="module")
def even(spark):
    return spark.range(0, 40_000, 1, 3).select((F.col("id") % 20_000).alias("key"))


def loads(placed, workers=WORKERS):
    counts = np.zeros(workers)
    for worker, rows in placed.groupBy(F.spark_partition_id()).count().collect():
        counts[worker] = rows
    return counts


def test_statistics_are_exact_while_the_keys_fit(skewed):
    profile = profile_keys(skewed, KeyColumns.of(skewed, "key"), WORKERS)
    counts = {row[0]: row[1] for row in skewed.groupBy("key").count().collect()}
    hashes = hash_keys(skewed.select("key").distinct().toArrow()["key"])
    assert profile.rows == 40_000
    assert profile.error == 0
    assert profile.distinct == pytest.approx(len(counts), rel=0.1)
    assert sorted(profile.counts) == sorted(counts.values())
    assert set(profile.keys.tolist()) == set(hashes.tolist())
    np.testing.assert_array_equal(np.zeros(WORKERS), profile.rest)


def test_few_rows_are_counted_by_the_driver_alike(skewed):
    key = KeyColumns.of(skewed, "key")
    sketched, counted = (profile_keys(skewed, key, WORKERS, few=few) for few in (False, True))
    assert counted.method == "all keys counted"
    assert (counted.rows, counted.nulls, counted.error) == (40_000, 0, 0)
    for name in ("loads", "keys", "counts", "rest"):
        np.testing.assert_array_equal(getattr(counted, name), getattr(sketched, name))


@pytest.mark.parametrize("few", [False, True])
def test_statistics_of_no_rows(skewed, few):
    profile = profile_keys(skewed.limit(0), KeyColumns.of(skewed, "key"), WORKERS, few=few)
    assert (profile.rows, profile.distinct, profile.keys.size) == (0, 0, 0)


@pytest.mark.parametrize("few", [False, True])
def test_statistics_of_awkward_keys(spark, few):
    rows = awkward(spark)
    profile = profile_keys(rows, KeyColumns.of(rows, ["word", "part"]), WORKERS, few=few)
    assert profile.nulls == rows.where("word is null or part is null").count()
    assert profile.counts[0] == max(
        row[2] for row in rows.groupBy("word", "part").count().collect()
    )


@pytest.mark.parametrize("few", [False, True])
def test_a_sample_says_so_and_scales(skewed, few):
    profile = profile_keys(skewed, KeyColumns.of(skewed, "key"), WORKERS, sample=0.25, few=few)
    assert profile.rows == pytest.approx(40_000, rel=0.1)
    assert profile.counts[0] == pytest.approx(20_000, abs=profile.error)
    assert "sample of 0.25" in profile.method


@pytest.mark.parametrize("scheme", ["planned-split", "kg", "routing-table", "pkg", "porc"])
def test_the_forecast_comes_true(skewed, scheme):
    plan = unskew.plan(skewed, "key", WORKERS, scheme=scheme)
    placed = plan.apply(skewed)
    measured = loads(placed)
    assert placed.columns == skewed.columns
    assert measured.sum() == 40_000
    assert measured.max() / measured.mean() == pytest.approx(plan.forecast.max_over_mean, rel=0.02)


def test_auto_splits_the_hot_key(skewed):
    plan = unskew.plan(skewed, "key", WORKERS)
    assert plan.partitioner.scheme == "planned-split"
    assert not plan.plain
    assert plan.forecast.max_over_mean < 1.02
    pairs = plan.with_worker(skewed).select("key", WORKER).distinct().count()
    assert pairs <= plan.forecast.replicas


@pytest.mark.parametrize(
    ("need", "scheme"), [("mergeable", "planned-split"), ("whole-key", "routing-table")]
)
def test_what_a_row_takes_decides_if_it_is_told(skewed, need, scheme):
    costly = unskew.plan(skewed, "key", WORKERS, need=need, seconds_per_row=1e-3)
    free = unskew.plan(skewed, "key", WORKERS, need=need, seconds_per_row=0.0)
    assert costly.partitioner.scheme == scheme
    assert free.plain
    for plan in (costly, free):
        # Rows are to be placed: no way leaves them where they are.
        assert {way.name for way in plan.ways} == {"plain", "hash", scheme}
        assert plan.ways[0].seconds == plan.forecast_seconds
        assert plan.apply(skewed).count() == 40_000


def test_by_default_every_slot_has_a_worker(spark, skewed):
    slots = spark.sparkContext.defaultParallelism
    spark.conf.set("spark.sql.shuffle.partitions", "200")
    try:
        assert unskew.plan(skewed, "key").workers == slots
        assert unskew.plan(skewed, "key", capacities=[1.0, 2.0, 3.0]).workers == 3
        assert unskew.diagnose(skewed, "key").workers == slots
        assert unskew.repartition(skewed, "key", scheme="ring").rdd.getNumPartitions() == slots
    finally:
        spark.conf.unset("spark.sql.shuffle.partitions")


@pytest.mark.parametrize(("rows", "most", "tasks"), [(1e3, 200, 4), (1e9, 200, 107), (1e12, 9, 16)])
def test_many_bytes_get_more_tasks_than_slots(rows, most, tasks):
    made = StageCost(Machine(slots=4, cores=4), row_bytes=16).level_tasks(rows, most)
    assert made == -(-tasks // 4) * 4


def test_auto_leaves_even_keys_to_spark(even):
    plan = unskew.plan(even, "key", WORKERS)
    assert plan.plain
    assert plan.partitioner == KeyGrouping(WORKERS)
    assert "plain Spark is as good" in plan.why


def test_whole_keys_stay_whole(skewed):
    plan = unskew.plan(skewed, "key", WORKERS, need="whole-key", scheme="routing-table")
    assert isinstance(plan.partitioner, RoutingTable)
    pairs = plan.with_worker(skewed).select("key", WORKER).distinct().count()
    assert pairs == skewed.select("key").distinct().count()
    auto = unskew.plan(skewed, "key", WORKERS, need=unskew.Need.WHOLE_KEY)
    assert "one key alone has 50.0% of the rows" in auto.why


def test_faster_workers_get_more(skewed):
    speeds = [3.0] + [1.0] * 7
    plan = unskew.plan(skewed, "key", WORKERS, capacities=speeds)
    utilisation = loads(plan.apply(skewed)) / speeds
    assert utilisation.max() / (40_000 / 10) < 1.03


@pytest.mark.parametrize("draw", ["content", "position"])
def test_native_shares_come_out_as_planned(skewed, draw):
    plan = unskew.plan(skewed, "key", WORKERS)
    plan = dataclasses.replace(plan, route=Route.of(plan.partitioner, "native", draw))
    # 20,000 rows draw among 8 workers: five standard deviations.
    assert loads(plan.apply(skewed)).max() < 5000 + 5 * 50


def test_parts_are_drawn_by_position_where_the_order_of_rows_is_fixed(spark, monkeypatch):
    # Of millions of rows, drawing them raises max/mean by less than it may.
    monkeypatch.setattr("unskew._spark.planning.choice._DRAW_COST", 1.0)
    alike = spark.range(0, 3_000, 1, 2).select((F.col("id") % 3).alias("key"))
    plan = unskew.plan(alike, "key", 2)
    assert (plan.route.lowering, plan.route.draw) == ("native", "position")
    shuffled = alike.withColumn("row", F.monotonically_increasing_id()).repartition(2, "row")
    assert unskew.plan(shuffled, "key", 2).route.draw == "content"
    assert unskew.plan(shuffled.select("key"), "key", 2).route.draw == "position"


@pytest.mark.smoke
def test_json_and_words(skewed):
    plan = unskew.plan(skewed, "key", WORKERS)
    assert unskew.Plan.from_json(plan.to_json()) == plan
    assert "planned-split for mergeable work by key" in str(plan)


def test_empty_input_and_one_worker(skewed):
    nothing = skewed.where("id < 0")
    assert unskew.plan(nothing, "key", WORKERS).apply(nothing).count() == 0
    assert loads(unskew.plan(skewed, "key", 1).apply(skewed), 1).tolist() == [40_000]


def test_bad_requests_are_refused(skewed):
    with pytest.raises(UnknownNameError, match="no column 'kye'"):
        unskew.plan(skewed, "kye")
    with pytest.raises(ParameterError, match="workers=0"):
        unskew.plan(skewed, "key", 0)
    with pytest.raises(NeedError, match=r"pkg does not guarantee .* these schemes do: kg, ring"):
        unskew.plan(skewed, "key", WORKERS, need="whole-key", scheme="pkg")
    with pytest.raises(UnknownNameError, match="did you mean 'pkg'"):
        unskew.plan(skewed, "key", WORKERS, scheme="pgk")
    with pytest.raises(ParameterError, match="8 numbers above 0"):
        unskew.plan(skewed, "key", WORKERS, capacities=[1.0, 2.0])
    with pytest.raises(ParameterError, match=r"sample=1\.5"):
        unskew.plan(skewed, "key", WORKERS, sample=1.5)
    with pytest.raises(UnknownNameError, match="no need 'whole'"):
        unskew.plan(skewed, "key", WORKERS, need="whole")
    with pytest.raises(ParameterError, match=r"table=50001 is not in 0\.\.50000"):
        unskew.plan(skewed, "key", WORKERS, table=50_001)


def test_bad_requests_are_refused_before_any_job(skewed, monkeypatch):
    def job(*_: object) -> None:
        raise AssertionError("a job ran")

    made = unskew.plan(skewed, "key", WORKERS)
    monkeypatch.setattr("unskew._spark.planning.request.profile_keys", job)
    for wrong in ({"scheme": "pgk"}, {"epsilon": 0}, {"table": -1}, {"capacities": [1.0]}):
        with pytest.raises(UnskewError):
            unskew.plan(skewed, "key", WORKERS, **wrong)
        with pytest.raises(UnskewError):
            unskew.groupBy(skewed, "key", workers=WORKERS, **wrong).agg(unskew.top_k("id", 3))
    with pytest.raises(ParameterError, match=r"keys, more than table=1; make one with plan"):
        unskew.groupBy(skewed, "key", scheme=made, table=1).agg(unskew.top_k("id", 3))
    with pytest.raises(ParameterError, match="epsilon shapes a plan, and this plan is complete"):
        unskew.groupBy(skewed, "key", scheme=made, epsilon=0.1).agg(unskew.top_k("id", 3))
