"""Executors are killed between and within what users do with a result: every row is checked.

Minutes long, and wants Spark to itself: run with `pytest -m long tests/spark/test_kept_results.py`.
No clock decides when an executor dies. Between two actions its shuffle files and stored blocks are
lost, and the second action computes them again; within an action a task kills its own executor. The
rows come in another order each time a task reads them, so that a route that depends on the order
would show. Rows are checked by their ids: one lost and another doubled would not show in a sum.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tests.spark.kill_report import outcomes  # noqa: F401 (a fixture)

import unskew
from unskew.testing import skewed

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS = 3000
WORKERS = 5
PATIENCE = 300
"""Seconds after which an action counts as hung; none takes a tenth of it on a busy machine."""


@pytest.fixture(scope="module")
def machines(local_cluster):
    return local_cluster(3)


@pytest.fixture(scope="module")
def session(machines):
    settings = {
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        # Killing executors is what this is about, not a broken application.
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.task.maxFailures": "10",
        # The executors start elsewhere and must find the functions of this file.
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return machines.session(settings)


@pytest.fixture(scope="module")
def rows(session, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows")
    skewed(session, ROWS, 50, 1.3).select("id", "key").repartition(4).write.parquet(path)
    read = session.read.parquet(path)
    return read.mapInArrow(in_any_order, read.schema)


def in_any_order(batches):
    for batch in batches:
        yield batch.take(pa.array(np.random.default_rng().permutation(batch.num_rows)))


def same(batches):
    yield from batches


def ids_of(table: pa.Table) -> pa.Table:
    return pa.table({"ids": pa.array([table["id"].to_pylist()], pa.list_(pa.int64()))})


def joined(table: pa.Table) -> pa.Table:
    found = [each for part in table["ids"].to_pylist() for each in part]
    return pa.table({"ids": pa.array([found], pa.list_(pa.int64()))})


def placed(scheme, need="mergeable"):
    return lambda rows: unskew.repartition(rows, "key", WORKERS, scheme=scheme, need=need)


def drawn_by_position(rows):
    # As rows are that have no column beside the key: nothing but their places tells them apart.
    plan = unskew.plan(rows, "key", WORKERS, scheme="planned-split")
    return replace(plan, route=replace(plan.route, draw="position")).apply(rows)


def grouped(rows):
    by = unskew.groupBy(rows, "key", workers=WORKERS, scheme="routing-table")
    return by.applyInArrow(lambda table: table.select(["id"]), "id bigint")


def cogrouped(rows):
    left = unskew.groupBy(rows, "key", workers=WORKERS, scheme="routing-table")
    right = unskew.groupBy(rows.select("key").distinct(), "key")
    return left.cogroup(right).applyInArrow(lambda one, _: one.select(["id"]), "id bigint")


def merged(scheme):
    def result(rows):
        by = unskew.groupBy(rows, "key", workers=WORKERS, scheme=scheme)
        return by.applyInArrow(ids_of, "ids array<bigint>", merge=joined).select(
            F.explode("ids").alias("id")
        )

    return result


def aggregated(rows):
    by = unskew.groupBy(rows, "key", workers=WORKERS, scheme="pkg")
    listed = by.agg(top=unskew.top_k("id", ROWS)).select(F.explode("top").alias("top"))
    return listed.select(F.col("top").getField(listed.schema[0].dataType.names[0]).alias("id"))


def split_join(how):
    def result(rows):
        table = rows.select("key").distinct().withColumn("title", F.upper("key"))
        return unskew.join(rows, table, "key", how, workers=WORKERS, scheme="planned-split")

    return result


def copied_join(rows):
    table = rows.select("key").distinct().withColumn("title", F.upper("key"))
    return unskew.join(rows, table, "key", workers=WORKERS, scheme="copy")


def heavy_first(rows):
    return unskew.mapInArrow(rows, same, rows.schema, cost=F.col("id"), scheme="heavy-first")


def mapped_by_cost(rows):
    return unskew.mapInArrow(
        rows, same, rows.schema, cost_key="key", workers=WORKERS, scheme="posg"
    )


LOWERINGS = {
    "native, whole keys": placed("routing-table", "whole-key"),
    "native, split by content": placed("planned-split"),
    "native, split by position": drawn_by_position,
    "online": placed("w-choices"),
    "groups": grouped,
    "cogroups": cogrouped,
    "native, merged": merged("planned-split"),
    "online, merged": merged("pkg"),
    "aggregates in Python": aggregated,
    "split join": split_join("inner"),
    "split outer join": split_join("full"),
    "copied join": copied_join,
    "heavy rows first": heavy_first,
    "map by cost": mapped_by_cost,
}


def every_row(found, times=1):
    return Counter(found) == Counter([*range(ROWS)] * times)


def some_rows(found):
    """Which rows a sample or a limit takes is open; none is there twice, and none is made up."""
    return 0 < len(found) == len(set(found)) and set(found) <= set(range(ROWS))


FOLLOW_UPS = {
    "collect": (lambda rows: rows, every_row),
    "persist": (lambda rows: rows.persist(), every_row),
    "join with itself": (lambda rows: rows.join(rows, "id"), every_row),
    "union with itself": (lambda rows: rows.union(rows), lambda found: every_row(found, 2)),
    "sample": (lambda rows: rows.sample(0.5, 7), some_rows),
    "limit": (lambda rows: rows.limit(ROWS // 3), some_rows),
}


def dying_once(marker):
    """A function that kills the executor of the first task that calls it."""

    def work(batches):
        for batch in batches:
            try:
                Path(marker).touch(exist_ok=False)
            except FileExistsError:
                yield batch
                continue
            # The parent of this Python worker forks them; its parent is the executor.
            forker = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(forker.rpartition(")")[2].split()[1]), signal.SIGKILL)

    return work


def outcome(session, action, is_right) -> str:
    """How an action went: exact, wrong, refused by Spark, or hung."""
    late = threading.Event()

    def cancel():
        late.set()
        session.sparkContext.cancelAllJobs()

    timer = threading.Timer(PATIENCE, cancel)
    timer.start()
    try:
        return "exact" if is_right([row["id"] for row in action()]) else "wrong"
    except Exception as problem:
        if late.is_set():
            return "hung"
        if isinstance(problem, PySparkException) or "Py4JJavaError" in type(problem).__name__:
            return "refused by Spark"
        raise
    finally:
        timer.cancel()


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_what_is_read_again_is_exact(machines, session, rows, outcomes, lowering):  # noqa: F811
    result = LOWERINGS[lowering](rows).select("id")
    answers = {name: follow(result) for name, (follow, _) in FOLLOW_UPS.items()}
    for name, answer in answers.items():
        assert FOLLOW_UPS[name][1]([row["id"] for row in answer.collect()]), name
    assert machines.kill_an_executor(len(outcomes))
    for name, answer in answers.items():
        outcomes[lowering][outcome(session, answer.collect, FOLLOW_UPS[name][1])] += 1
    session.catalog.clearCache()
    _check(outcomes[lowering], lowering)


@pytest.mark.parametrize("lowering", LOWERINGS)
def test_what_is_written_is_exact(session, rows, outcomes, lowering, tmp_path):  # noqa: F811
    result = LOWERINGS[lowering](rows).select("id")
    marker, path = str(tmp_path / "killed"), str(tmp_path / "out")

    def written():
        result.mapInArrow(dying_once(marker), "id bigint").write.parquet(path)
        return session.read.parquet(path).collect()

    outcomes[lowering][outcome(session, written, every_row)] += 1
    assert Path(marker).exists()
    _check(outcomes[lowering], lowering)


def _check(counts, lowering):
    print(f"{lowering}: {dict(counts)}")
    assert not counts["wrong"]
    assert not counts["hung"]
    # A checkpoint that its executor took with it cannot be made again, and Spark says so.
    if lowering not in ("map by cost", "split outer join"):
        assert not counts["refused by Spark"]
