"""Assertions fail with the difference in their message; generators make the skew asked for."""

from __future__ import annotations

import math

import pytest
from pyspark.sql import functions as F

from unskew.errors import ParameterError
from unskew.testing import assert_balanced, assert_same_result, one_hot_key, skewed

pytestmark = pytest.mark.spark


def test_generators_make_the_skew_that_is_asked_for(spark):
    rows = skewed(spark, 1000, 50, 1.5, nulls=0.1)
    assert rows.dtypes == [("id", "bigint"), ("key", "string"), ("value", "double")]
    hot = one_hot_key(spark, 1000, 50, share=0.7)
    counts = [
        frame.agg(
            F.count(F.lit(1)), F.count_if(F.col("key") == "key-0"), F.count_if(F.isnull("key"))
        ).first()
        for frame in (rows, hot)
    ]
    assert counts[0][0] == counts[1][0] == 1000
    assert 300 < counts[0][1] < 450
    assert 60 < counts[0][2] < 140
    assert 650 < counts[1][1] < 750
    assert skewed(spark, 0, 5).count() == 0
    assert rows.collect() == skewed(spark, 1000, 50, 1.5, nulls=0.1).collect()
    with pytest.raises(ParameterError, match="share=2"):
        one_hot_key(spark, 10, 5, share=2)


def test_same_rows_are_told_from_different_ones(spark):
    values = [(0.0, [1]), (math.nan, None), (1.0, []), (1.0, [])]
    schema = "x double, y array<int>"
    one = spark.createDataFrame(values, schema)
    assert_same_result(one, spark.createDataFrame([(-0.0, [1]), *values[:0:-1]], schema))
    with pytest.raises(AssertionError, match="1 rows are missing and 0 are unexpected"):
        assert_same_result(spark.createDataFrame(values[:3], schema), one)
    with pytest.raises(AssertionError, match=r"unexpected:\n  \(2.0, \(1,\)\)"):
        assert_same_result(spark.createDataFrame([(2.0, [1]), *values[1:]], schema), one)
    with pytest.raises(AssertionError, match="the columns differ"):
        assert_same_result(one.withColumnRenamed("x", "z"), one)


def test_balance_counts_empty_partitions(spark):
    level = spark.range(0, 100, 1, 4)
    assert_balanced(level, 1.0)
    with pytest.raises(AssertionError, match=r"max/mean is 2.000, above 1.1"):
        assert_balanced(level, workers=8)
    with pytest.raises(AssertionError, match="partition 0 has 75 rows of 100"):
        assert_balanced(level.repartitionById(2, F.expr("cast(id % 4 = 3 as int)")))
