"""Each row gets the worker on Spark that the router gives it outside of Spark."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import functions as F
from tests.spark.frames import KEYS, awkward
from tests.spark.routes import WORKER, with_worker, worker_column

from unskew._spark.routing.route import Route
from unskew.errors import KeyTypeError, NeedError, ParameterError, UnknownNameError
from unskew.partitioners import (
    ALL,
    ConsistentRing,
    KeyGrouping,
    OfflineGreedy,
    PartialKey,
    PlannedSplit,
    RoutingTable,
    WeightedGrouping,
)
from unskew.partitioners.whole_planning import plan_whole_keys
from unskew.sketches.key_counts import KeyCounts

pytestmark = pytest.mark.spark


def hashes(rows):
    return np.array(rows, dtype=np.int64).view(np.uint64)


def routed(rows, key, *partitioners, **options):
    """The rows' hashes, content hashes and workers by each partitioner, in one pass."""
    frame = rows
    for number, partitioner in enumerate(partitioners):
        workers = with_worker(rows, key, partitioner, name=f"w{number}", **options)
        assert workers.columns == [*rows.columns, f"w{number}"]
        assert dict(workers.dtypes)[f"w{number}"] == "int"
        frame = frame.withColumn(f"w{number}", worker_column(rows, key, partitioner, **options))
    routes = [f"w{number}" for number in range(len(partitioners))]
    chosen = frame.select(F.xxhash64(*key), F.xxhash64(*rows.columns), *routes).collect()
    table = np.array(chosen, dtype=np.int64).reshape(-1, 2 + len(routes)).T.copy()
    return table[0].view(np.uint64), table[1].view(np.uint64), list(table[2:])


def counted(rows, key):
    return KeyCounts.of([hashes([row[0] for row in rows.select(F.xxhash64(*key)).collect()])])


def tables(rows, key):
    counts = counted(rows, key)
    heavy = counts.keys[:6]
    owners = np.arange(heavy.size, dtype=np.int32)
    return [
        OfflineGreedy(7, counts),
        RoutingTable(7, heavy, owners),
        RoutingTable(7, heavy, owners, base=ConsistentRing(7)),
        plan_whole_keys(counts.keys, counts.counts.astype(float), np.ones(7), table=6),
    ]


@pytest.fixture(scope="module")
def frame(spark):
    rows = awkward(spark)
    return spark.createDataFrame(rows.collect(), rows.schema).coalesce(1).localCheckpoint()


@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_native_routes_are_the_routers(frame, key):
    schemes = [
        KeyGrouping(5),
        KeyGrouping(1),
        ConsistentRing(7),
        WeightedGrouping(7),
        *tables(frame, key),
    ]
    keys, _, routes = routed(frame, key, *schemes)
    for partitioner, workers in zip(schemes, routes, strict=True):
        assert Route.of(partitioner).lowering == "native"
        np.testing.assert_array_equal(workers, partitioner.router().route(keys))


@pytest.mark.parametrize("workers", [8, 1000])
def test_a_table_may_hold_the_keys_of_one_worker_only(spark, workers):
    rows = spark.range(400 * workers)
    found = hashes([row[0] for row in rows.select(F.xxhash64("id")).collect()])
    first = np.sort(found)[:300]
    table = RoutingTable(workers, first, np.full(300, workers - 1, dtype=np.int32))
    keys, _, [owners] = routed(rows, ["id"], table)
    np.testing.assert_array_equal(owners, table.router().route(keys))


@pytest.mark.parametrize("key", [["word"], ["number", "pair", "word"]], ids="-".join)
def test_native_planned_split_draws_by_the_rows_content(frame, key):
    plans = [PlannedSplit(workers, counts=counted(frame, key)) for workers in (1, 7, 500)]
    keys, contents, routes = routed(frame, key, *plans)
    for plan, workers in zip(plans, routes, strict=True):
        drawn = plan.static.route(keys, contents >> np.uint64(32))
        np.testing.assert_array_equal(workers, drawn)
    assert np.unique(routes[1]).size == 7


def test_online_routes_are_the_routers(frame):
    plan = PlannedSplit(7, counts=counted(frame, ["word"]))
    schemes = [plan, *(ALL[name](workers=7) for name in ("kg", "pkg", "porc", "sg", "d-choices"))]
    keys, _, routes = routed(frame, ["word"], *schemes, lowering="online")
    for partitioner, workers in zip(schemes, routes, strict=True):
        np.testing.assert_array_equal(workers, partitioner.router().route(keys))
    loads = np.bincount(routes[0])
    assert loads.max() <= 1.05 * loads.mean() + 1


@pytest.mark.parametrize("scheme", [name for name in ALL if ALL[name](workers=7).coordinated])
def test_schemes_that_share_a_router_are_refused(frame, scheme):
    with pytest.raises(NeedError, match="one router shared"):
        with_worker(frame, "word", ALL[scheme](workers=7))


def test_every_task_is_a_source_of_its_own(spark):
    rows = spark.range(0, 400, 1, 4).select((F.col("id") % 7).alias("key"))
    routed = with_worker(rows, "key", PartialKey(8)).select(
        F.spark_partition_id(), F.xxhash64("key"), WORKER
    )
    parts = np.array(routed.collect(), dtype=np.int64)
    for source in range(4):
        part = parts[parts[:, 0] == source]
        expected = PartialKey(8).router(source, 4).route(part[:, 1].copy().view(np.uint64))
        np.testing.assert_array_equal(part[:, 2], expected)


def test_empty_input(spark, frame):
    empty = frame.where("id < 0")
    keys, _, _ = routed(empty, ["word"], KeyGrouping(3), PartialKey(3))
    assert keys.size == 0


def test_a_filter_on_the_worker_does_not_route_again(frame):
    with_workers = with_worker(frame, "word", PartialKey(4)).cache()
    whole = with_workers.groupBy(WORKER).count().collect()
    halves = [with_workers.where(F.col(WORKER) == row[0]).count() for row in whole]
    assert halves == [row[1] for row in whole]
    plan = with_worker(frame, "word", PartialKey(4)).where(F.col(WORKER) == 1)
    assert plan.count() == dict(whole)[1]
    with_workers.unpersist()


def test_the_helper_column_keeps_out_of_the_users_way(frame):
    taken = frame.withColumn(WORKER.upper(), F.lit(1))
    assert with_worker(taken, "word", KeyGrouping(3)).columns[-1] == WORKER + "_"


def test_lower_case_collation_groups_as_spark_does(spark):
    rows = spark.sql("select collate(k, 'UTF8_LCASE') k from values ('Ab'), ('aB'), ('c') t(k)")
    workers = with_worker(rows, "k", KeyGrouping(1000)).groupBy("k", WORKER).count()
    assert sorted(row["count"] for row in workers.collect()) == [1, 2]


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("map('a', 1)", KeyTypeError),
        ("struct(map('a', 1))", KeyTypeError),
        ("collate('a', 'UNICODE_CI')", KeyTypeError),
        ("array(collate('a', 'UTF8_LCASE'))", KeyTypeError),
    ],
)
def test_keys_that_hash_unlike_they_group_are_refused(spark, expression, error):
    with pytest.raises(error):
        with_worker(spark.sql(f"select {expression} k"), "k", KeyGrouping(3))


def test_bad_requests_are_refused_before_any_job(frame):
    with pytest.raises(UnknownNameError, match="did you mean 'word'"):
        with_worker(frame, "wrod", KeyGrouping(3))
    with pytest.raises(ParameterError, match="no column"):
        with_worker(frame, [], KeyGrouping(3))
    with pytest.raises(ParameterError, match="cannot run natively"):
        with_worker(frame, "word", PartialKey(3), lowering="native")
    with pytest.raises(ParameterError, match="is not native or online"):
        with_worker(frame, "word", PartialKey(3), lowering="fast")
    with pytest.raises(NeedError, match="one router shared"):
        with_worker(frame, "word", PartialKey(3, estimate="global"))
