"""An executor is killed while results are computed: they are exact, or Spark says it cannot.

Minutes long, and wants Spark to itself: run with `pytest -m long tests/spark/test_kills.py`.
Rows are checked by their ids: a row lost and another doubled would not show in a sum.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tests.spark.kill_report import outcomes  # noqa: F401 (a fixture)

import unskew
from unskew.testing import skewed

pytestmark = [pytest.mark.spark, pytest.mark.long]

KILLS = 10
ROWS = 4000
WORKERS = 6


@pytest.fixture(scope="module")
def machines(local_cluster):
    return local_cluster(3)


@pytest.fixture(scope="module")
def session(machines):
    settings = {
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": str(WORKERS),
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        # Killing ten executors is what this is about, not a broken application.
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.task.maxFailures": "10",
        # The executors start elsewhere and must find the functions of this file.
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return machines.session(settings)


@pytest.fixture(scope="module")
def rows(session, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows")
    skewed(session, ROWS, 50, 1.3).repartition(WORKERS).write.parquet(path)
    return session.read.parquet(path)


def ids(table: pa.Table) -> pa.Table:
    time.sleep(0.001 * table.num_rows)
    return pa.table({"ids": pa.array([table["id"].to_pylist()], pa.list_(pa.int64()))})


def joined(table: pa.Table) -> pa.Table:
    found = [each for part in table["ids"].to_pylist() for each in part]
    return pa.table({"ids": pa.array([found], pa.list_(pa.int64()))})


def grouped(scheme):
    def work(rows):
        shuffled = rows.repartition(WORKERS, "value")
        result = unskew.groupBy(shuffled, "key", workers=WORKERS, scheme=scheme).applyInArrow(
            ids, "ids array<bigint>", merge=joined
        )
        return [each for row in result.collect() for each in row["ids"]]

    return work


def placed(rows):
    result = unskew.groupBy(rows, "key", workers=WORKERS, scheme="routing-table").applyInArrow(
        ids, "ids array<bigint>"
    )
    return [each for row in result.collect() for each in row["ids"]]


def slowly(seconds):
    def work(batches):
        for batch in batches:
            time.sleep(seconds * batch.num_rows)
            yield batch.select(["id"])

    return work


def heavy_first(rows):
    """A row of a hundred takes most of the cost, and starts first."""
    cost = F.when(F.col("id") % 100 == 0, 500.0).otherwise(1.0)
    found = unskew.mapInArrow(rows, slowly(0.01), "id bigint", cost=cost, scheme="heavy-first")
    return [row["id"] for row in found.collect()]


def split_join(rows):
    table = rows.select("key").distinct().selectExpr("key", "upper(key) title")
    both = unskew.join(rows, table, "key", "full", workers=WORKERS, scheme="planned-split")
    return [row["id"] for row in both.mapInArrow(slowly(0.001), "id bigint").collect()]


KINDS = {
    "native split, merged": grouped("planned-split"),
    "on line, merged": grouped("pkg"),
    "native whole keys": placed,
    "heavy rows first": heavy_first,
    "split join": split_join,
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_exact_or_refused(machines, session, rows, outcomes, kind):  # noqa: F811
    seen = outcomes[f"{kind}, while it runs"]
    for number in range(KILLS):
        seen[one_kill(machines, rows, KINDS[kind], number)] += 1
    print(f"{kind}: {dict(seen)}")
    assert seen["wrong"] == 0
    assert seen["exact"] > 0


def one_kill(machines, rows, work, number) -> str:
    """Run `work`, killing an executor a little later each time."""
    killed = threading.Timer(1.0 + 0.7 * number, machines.kill_an_executor, [number])
    killed.start()
    try:
        found = work(rows)
    except PySparkException:
        return "refused by Spark"
    except Exception as problem:
        if "Py4JJavaError" in type(problem).__name__:
            return "refused by Spark"
        raise
    finally:
        killed.join()
    return "exact" if Counter(found) == Counter(range(ROWS)) else "wrong"
