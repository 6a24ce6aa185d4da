"""Keys whose values differ from what they look like: repeated hours, letters of two forms."""

from __future__ import annotations

import itertools
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tests.spark.cases import assert_cases_agree, together

import unskew
from unskew._spark.frames.keys import KeyColumns
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark

MERGEABLE = ("pkg", "planned-split")
SIGMAS = "'ΟΔΟΣ', 'οδος', 'οδοσ', 'STRAẞE', 'straße', 'İ', 'i̇', 'I', 'ı', 'i'"


def size(rows: pa.Table) -> pa.Table:
    return pa.table({"n": [rows.num_rows]})


def total(parts: pa.Table) -> pa.Table:
    return pa.table({"n": [sum(parts["n"].to_pylist())]})


@pytest.fixture
def new_york(spark):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def test_timestamp_keys_with_a_merge_in_any_zone(spark, new_york):
    # 05:00 and 06:00 UTC are both shown as 01:00; the year of the last one is 14,000.
    times = "element_at(array(1762059600L, 1762063200L, 379620000000L), int(id % 3) + 1)"
    results = {}
    for key, scheme in itertools.product(("time", "struct(time)", "array(time)"), MERGEABLE):
        rows = spark.range(0, 12, 1, 2).selectExpr(f"timestamp_seconds({times}) time")
        grouped = unskew.groupBy(rows.selectExpr(f"{key} key"), "key", workers=2, scheme=scheme)
        results[f"{key} {scheme}"] = grouped.applyInArrow(size, "n bigint", merge=total)
    found = Counter(map(tuple, together(results.items()).collect()))
    assert found == {(case, 4): 3 for case in results}


def latest(rows: pa.Table) -> pa.Table:
    last = rows.select(["time"]).sort_by("time").slice(rows.num_rows - 1)
    return last.cast(pa.schema({"time": pa.timestamp("us", "UTC")}))  # As Spark wants them.


def latest_in_pandas(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[["time"]].sort_values("time").tail(1)


def test_times_of_cut_and_of_whole_keys_leave_one_task(spark, new_york):
    rows = spark.range(300).selectExpr(
        "if(id % 10 < 9, 0, id) key", "timestamp_seconds(1752059600 + 60 * id) time"
    )
    grouped = unskew.groupBy(rows, "key", workers=4, scheme="planned-split")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        plain = rows.groupBy("key").agg(F.max("time").alias("time")).select("time")
        arrow = grouped.applyInArrow(latest, "time timestamp", merge=latest)
        assert_same_result(arrow, plain)
        pandas = grouped.applyInPandas(latest_in_pandas, "time timestamp", merge=latest_in_pandas)
        assert_same_result(pandas, plain)
        ours = grouped.agg(time=unskew.max("time"), top=unskew.top_k("time", 1)).select("time")
        assert_same_result(ours, plain)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_keys_that_a_collation_finds_equal_have_one_hash(spark):
    letters = spark.range(0x20, 0x11000).where("id not between 55296 and 57343")  # Surrogates.
    text = "decode(unhex(lpad(hex(id), 8, '0')), 'UTF-32')"
    words = letters.selectExpr(f"collate(concat('Ο', {text}), 'UTF8_LCASE') word")
    hashed = words.withColumn("hash", KeyColumns.of(words, "word").hash)
    apart = hashed.groupBy("word").agg(F.count_distinct("hash").alias("n")).where("n > 1")
    assert apart.collect() == []


def test_keys_that_a_collation_finds_equal_meet(spark):
    rows = spark.sql(
        f"select collate(col, 'UTF8_LCASE') word from (select explode(array({SIGMAS})))"
    ).crossJoin(spark.range(6))
    grouped = unskew.groupBy(rows, "word", workers=4, scheme="pkg")
    result = grouped.applyInArrow(size, "n bigint", merge=total)
    assert_same_result(result, rows.groupBy("word").agg(F.count(F.lit(1)).alias("n")).select("n"))
    left = rows.where("id = 0").withColumnRenamed("id", "left")
    right = rows.where("id = 1 and word in ('οδοσ', 'straße', 'ı')")
    joined = unskew.join(left, right, "word", how="full", workers=4, scheme="planned-split")
    assert_same_result(joined, left.join(right, "word", "full"))


def test_zeros_of_keys_have_no_sign(spark):
    numbers = spark.range(0, 8, 1, 1).selectExpr(
        "if(id % 2 = 0, -0.0D, 0.0D) number", "id % 3 id", "1 one"
    )
    results, expected = {}, {}
    for key in ("number", "cast(number as float)", "struct(number, id)", "array(number, null)"):
        rows = numbers.selectExpr(f"{key} key", "one").union(
            numbers.selectExpr(f"if(id = 0, null, {key}) key", "one")
        )
        plain = rows.groupBy("key").agg(F.count("one").alias("n"))
        # As text, which shows the sign of a zero.
        expected[key] = plain.select(F.col("key").cast("string"), "n")
        for scheme in ("auto", "pkg"):
            by = unskew.groupBy(rows, "key", workers=2, scheme=scheme)
            ours = by.agg(n=unskew.count("one"), top=unskew.top_k("one", 1)).drop("top")
            assert ours.dtypes == plain.dtypes
            results[f"{key}/{scheme}"] = ours.select(F.col("key").cast("string"), "n")
    assert_cases_agree(results, expected)
