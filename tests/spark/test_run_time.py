"""What a result took when it ran, also where Spark runs it by itself."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import unskew

pytestmark = [
    pytest.mark.spark,
    pytest.mark.classic("Spark Connect does not tell of its queries"),
]

UNKNOWN = "took      not known of what Spark runs by itself, unless the result itself is collected"


def written(rows):
    rows.write.format("noop").mode("overwrite").save()


@pytest.fixture(scope="module")
def rows(spark):
    return spark.range(0, 600, 1, 2).selectExpr("id % 20 key", "id")


@pytest.fixture(scope="module")
def others(spark):
    return spark.range(20).selectExpr("id key", "id + 1 other")


@pytest.fixture
def explained(capsys):
    def told(result):
        capsys.readouterr()
        unskew.explain(result)
        return capsys.readouterr().out

    return told


def aggregates(rows):
    grouped = unskew.groupBy(rows, "key")
    return (
        grouped.agg(n=unskew.count()),
        grouped.agg(F.max("id"), F.sum("id").alias("total")),
        unskew.groupBy(rows, F.col("key") + 1).agg(F.max("id")),
        unskew.groupBy(rows).agg(F.max("id")),
        unskew.groupBy(rows).agg(most=unskew.top_k("id", 1)),
        unskew.groupBy(rows, "key", scheme="kg").agg(n=unskew.count()),
    )


def left_to_spark(rows, others):
    return (
        unskew.join(rows, others, "key"),
        unskew.join(rows, others, rows.key < others.key),
        unskew.join(rows, rows.select("key"), "key"),
        unskew.repartition(rows, "key", 2),
        unskew.repartition(rows, "key", 2, scheme="ring"),
    )


@pytest.mark.parametrize("run", [DataFrame.collect, DataFrame.toArrow, written])
def test_aggregates_show_what_their_run_took(rows, explained, run):
    for result in aggregates(rows):
        assert "took" not in explained(result)
        run(result)
        assert re.search(r"\ntook +[0-9.]+ s when it ran\n", explained(result))


def test_the_run_of_another_aggregate_is_not_shown(rows, explained):
    total = F.sum("id").alias("total")
    ours, twin = (unskew.groupBy(rows, "key").agg(total) for _ in range(2))
    rows.groupBy("key").agg(total).collect()
    twin.collect()
    assert "took" not in explained(ours)
    assert "took" in explained(twin)


@pytest.mark.parametrize("run", [DataFrame.collect, DataFrame.toArrow])
def test_what_is_left_to_spark_shows_what_it_took_to_collect(rows, others, explained, run):
    for result in left_to_spark(rows, others):
        run(result)
        assert re.search(r"\ntook +[0-9.]+ s when it ran\n", explained(result))


def test_where_queries_bear_no_mark_it_says_so(rows, others, explained):
    rows.join(others, "key").collect()
    rows.repartition(2, "key").collect()
    for result in left_to_spark(rows, others):
        assert UNKNOWN in explained(result)
        written(result)
        assert UNKNOWN in explained(result)
