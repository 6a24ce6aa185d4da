"""Every scheme to spread rows counts the same; what a task tells adds up."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from unskew.testing import skewed
from unskew_lab.cluster.counting import SCHEMA, counted, counter
from unskew_lab.cluster.placements import PLACEMENTS, WORKERS
from unskew_lab.session import spark_settings

PLAIN = ("Spark: more partitions", "Spark: small tasks in turn")
"""Many tasks, and nothing of ours in them."""


def test_a_task_tells_its_counts_and_its_rows():
    batches = [pa.record_batch({"key": [1, 2, 1]}), pa.record_batch({"key": [2, 2]})]
    [result] = counter(0.0001)(iter(batches))
    rows = result.to_pylist()
    told = rows.pop()
    assert {row["key"]: row["n"] for row in rows} == {1: 2, 2: 3}
    assert told["key"] is None
    assert told["task"]["rows"] == 5
    assert 5 * told["task"]["begun"] <= told["task"]["latency"] <= 5 * told["task"]["done"]


def test_an_empty_task_tells_so():
    [result] = counter(0.0001)(iter([]))
    assert [row["task"]["rows"] for row in result.to_pylist()] == [0]


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows")
    drawn = skewed(spark, 3000, 300, 1.4).withColumn("key", F.xxhash64("key"))
    drawn.select("key", "id").write.parquet(path)
    return spark.read.parquet(path)


@pytest.mark.long  # a minute and a half for all schemes
@pytest.mark.spark
class TestOnSpark:
    @pytest.mark.parametrize("scheme", [scheme for scheme in PLACEMENTS if scheme not in PLAIN])
    def test_every_scheme_counts_every_row_once(self, spark, rows, scheme):
        with spark_settings(spark, PLACEMENTS[scheme].settings):
            batch = counted(rows, scheme, 0.0)
        assert batch.rows == 3000
        assert sum(task.rows for task in batch.tasks) == 3000
        keys = rows.select("key").distinct().count()
        assert batch.partials >= keys
        if not PLACEMENTS[scheme].splits:
            assert batch.partials == keys

    @pytest.mark.parametrize("scheme", ["CG", "planned split", "SG"])
    def test_ways_that_split_are_level(self, spark, rows, scheme):
        loads = [task.rows for task in counted(rows, scheme, 0.0).tasks]
        assert max(loads) <= 1.5 * 3000 / WORKERS

    def test_settings_are_put_back(self, spark):
        name = "spark.sql.adaptive.enabled"
        before = spark.conf.get(name)
        with spark_settings(spark, {name: "false", "unskew.test": "1"}):
            assert spark.conf.get(name) == "false"
        assert spark.conf.get(name) == before
        assert spark.conf.get("unskew.test", None) is None

    def test_counts_are_those_of_the_keys(self, spark, rows):
        parts = (
            PLACEMENTS["PKG"].place(rows).mapInArrow(counter(0.0), SCHEMA).dropna(subset=["key"])
        )
        found = Counter()
        for row in parts.collect():
            found[row.key] += row.n
        wanted = {row.key: row["count"] for row in rows.groupBy("key").count().collect()}
        assert found == wanted
