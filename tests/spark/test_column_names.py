"""Columns that one name does not tell apart, and names in another case: as in Spark."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

import unskew
from unskew.errors import ParameterError, UnknownNameError

pytestmark = pytest.mark.spark

KINDS = ["inner", "left", "right", "full", "semi", "anti"]
SCHEMES = ["planned-split", "routing-table", "kg"]


def same(batches):
    yield from batches


def counted(rows):
    """How often each row is there; rows are told by the places of their columns."""
    named = rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))
    return Counter(map(tuple, named.collect()))


def twins(spark, names, start=0):
    """A hot key, a number, and columns that may have one name; out of a shuffle."""
    rows = spark.range(start, start + 60, 1, 2).select(
        F.when(F.col("id") % 3 > 0, F.lit("hot")).otherwise(F.col("id").cast("string")),
        "id",
        *(F.col("id") * (2 + place) for place in range(len(names))),
    )
    return rows.toDF("key", "id", *names).repartition(2, "id")


ALIKE = ("v", "v", "V")
"""Names that are equal, and equal but for case."""


@pytest.fixture
def case_matters(spark):
    spark.conf.set("spark.sql.caseSensitive", "true")
    yield
    spark.conf.unset("spark.sql.caseSensitive")


HERE = ("__unskew_match_left", "__unskew_worker", "__unskew_WORKERS")
THERE = ("__unskew_workers", "__unskew_match_right", "__unskew_Match_Left_")
"""Names of a join's helper columns."""


@pytest.mark.parametrize("how", KINDS)
def test_joins(spark, how):
    left, right = twins(spark, (*ALIKE, *HERE)), twins(spark, (*ALIKE, *THERE), 30)
    plain = left.join(right, "key", how)
    wanted = counted(plain)
    for scheme in SCHEMES:
        ours = unskew.join(left, right, "key", how, workers=3, scheme=scheme)
        assert ours.columns == plain.columns
        assert counted(ours) == wanted


def test_rows_that_stay_as_they_are(spark):
    rows = twins(spark, ALIKE)
    wanted = counted(rows)
    for scheme in ("planned-split", "pkg"):
        placed = unskew.repartition(rows, "key", 3, scheme=scheme, need="mergeable")
        assert placed.columns == rows.columns
        assert counted(placed) == wanted
        plan = unskew.plan(rows, "key", 3, scheme=scheme)
        assert counted(plan.apply(rows)) == wanted


def test_aggregates(spark):
    rows = twins(spark, ALIKE)
    wanted = counted(rows.groupBy("key").agg(F.sum("id").alias("total")))
    for scheme in ("auto", "planned-split", "pkg"):
        by = unskew.groupBy(rows, "key", workers=3, scheme=scheme)
        assert counted(by.agg(total=unskew.sum("id"))) == wanted
        both = by.agg(total=unskew.sum("id"), top=unskew.top_k("id", 1))
        assert counted(both.drop("top")) == wanted


def test_rows_without_a_hash_of_all_columns(spark):
    rows = twins(spark, ALIKE).withColumn("m", F.map_from_arrays(F.array("id"), F.array("id")))
    shown = [F.col("key"), F.col("id"), F.col("m").cast("string")]
    placed = unskew.repartition(rows, "key", 3, scheme="planned-split", need="mergeable")
    assert counted(placed.select(*shown)) == counted(rows.select(*shown))


def test_a_key_that_two_columns_have(spark):
    rows = spark.range(9).select("id", F.col("id").alias("k"), F.col("id").alias("K"))
    for call in (
        lambda: unskew.plan(rows, "k", 2),
        lambda: unskew.groupBy(rows, "K", workers=2),
        lambda: unskew.repartition(rows, "k", 2),
        lambda: unskew.join(rows, rows, "k", workers=2),
        lambda: unskew.mapInArrow(rows, same, rows.schema, cost_key="k"),
    ):
        with pytest.raises(ParameterError, match="2 columns named"):
            call()
    with pytest.raises(AnalysisException, match="AMBIGUOUS_REFERENCE"):
        _ = rows.groupBy("k").count().schema


def test_a_key_that_two_columns_have_but_for_case(spark, case_matters):
    rows = spark.range(9).select("id", (F.col("id") % 2).alias("k"), F.lit(0).alias("K"))
    for key in "kK":
        plain = rows.groupBy(key).agg(F.count("id").alias("n"))
        wanted = counted(plain)
        for scheme in ("auto", "planned-split"):
            ours = unskew.groupBy(rows, key, workers=2, scheme=scheme).agg(n=unskew.count("id"))
            assert ours.columns == plain.columns
            assert counted(ours) == wanted
    with pytest.raises(UnknownNameError):
        unskew.plan(rows, "ID", 2)


def test_names_in_another_case(spark):
    rows = twins(spark, ("v", "w"))
    plain = rows.groupBy("KEY").agg(F.sum("ID").alias("total"), F.max("V").alias("most"))
    wanted = counted(plain)
    for scheme in ("auto", "planned-split", "pkg"):
        by = unskew.groupBy(rows, "KEY", workers=3, scheme=scheme)
        ours = by.agg(total=unskew.sum("ID"), most=unskew.max("V"))
        python = by.agg(total=unskew.sum("ID"), most=unskew.max("V"), d=unskew.distinct("W"))
        for result in (ours, python.drop("d")):
            assert result.columns == plain.columns
            assert counted(result) == wanted


@pytest.fixture
def keys_hidden(spark):
    spark.conf.set("spark.sql.retainGroupColumns", "false")
    yield
    spark.conf.unset("spark.sql.retainGroupColumns")


@pytest.mark.classic("Spark Connect always shows the key")
def test_results_without_the_key(spark, keys_hidden):
    rows = twins(spark, ("v", "w"))
    plain = rows.groupBy("key").agg(F.sum("id").alias("total"))
    assert plain.columns == ["total"]
    wanted = counted(plain)
    results = [unskew.groupBy(rows, "key", workers=3, scheme="kg").agg(total=F.sum("id"))]
    for scheme in ("auto", "planned-split", "pkg"):
        by = unskew.groupBy(rows, "key", workers=3, scheme=scheme)
        both = by.agg(total=unskew.sum("id"), top=unskew.top_k("id", 1))
        results += [by.agg(total=unskew.sum("id")), both.drop("top")]
    for ours in results:
        assert ours.columns == plain.columns
        assert counted(ours) == wanted


def test_plans_without_the_key_in_results(spark, keys_hidden):
    rows = twins(spark, ("v", "w"))
    assert unskew.diagnose(rows, "key", workers=3).top[0].key == "hot"
    assert counted(unskew.plan(rows, "key", 3).apply(rows)) == counted(rows)
    joined = unskew.join(rows, rows, "key", "full", workers=3, scheme="planned-split")
    assert counted(joined) == counted(rows.join(rows, "key", "full"))
