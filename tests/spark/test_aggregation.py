"""Aggregates are those of plain Spark, or those of the rows of each key brought together."""

from __future__ import annotations

import decimal
import os

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tests.aggregates.conformance import same
from tests.aggregates.longest import Longest
from tests.spark.frames import KEYS, awkward

import unskew
from unskew._spark.engine import aggregate_functions
from unskew._spark.frames.physical_plan import physical_plan
from unskew.errors import KeyTypeError, NeedError, ParameterError, SchemaError, UnknownNameError
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark

OURS = {
    "rows": unskew.count(),
    "there": unskew.count("number"),
    "total": unskew.sum("money"),
    "sum": unskew.sum("id"),
    "mean": unskew.mean("money"),
    "average": unskew.mean("id"),
    "least": unskew.min("number"),
    "most": unskew.max("money"),
}


def sparks():
    return [
        F.count(F.lit(1)).alias("rows"),
        F.count("number").alias("there"),
        F.sum("money").alias("total"),
        F.sum("id").alias("sum"),
        F.avg("money").alias("mean"),
        F.avg("id").alias("average"),
        F.min("number").alias("least"),
        F.max("money").alias("most"),
    ]


@pytest.fixture(scope="module")
def frame(spark):
    return awkward(spark, rows=90).localCheckpoint()


@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_split_aggregates_are_sparks(frame, key):
    scheme = "planned-split" if len(key) == 1 else "pkg"
    split = unskew.groupBy(frame, *key, workers=3, scheme=scheme).agg(**OURS)
    assert_same_result(split, frame.groupBy(*key).agg(*sparks()))


def test_algebraic_aggregates_are_left_to_spark(frame, caplog):
    with caplog.at_level("INFO", logger="unskew"):
        result = unskew.groupBy(frame, "word").agg(F.max("id"), **OURS)
    assert "combines these aggregates before the shuffle" in caplog.text
    assert "shufflepartitionid" not in physical_plan(result)
    assert result.columns[:3] == ["word", "max(id)", "rows"]
    assert_same_result(result, frame.groupBy("word").agg(F.max("id"), *sparks()))


def test_sparks_own_aggregates_by_a_scheme_that_keeps_keys_whole(frame):
    result = unskew.groupBy(frame, "word", workers=3, scheme="kg").agg(ids=F.sum("id"))
    assert_same_result(result, frame.groupBy("word").agg(F.sum("id").alias("ids")))
    with pytest.raises(NeedError, match="whole-key"):
        unskew.groupBy(frame, "word", workers=3, scheme="pkg").agg(F.sum("id"))


def test_results_of_one_name_are_kept_apart(frame):
    for scheme in ("kg", "auto"):
        grouped = unskew.groupBy(frame, "word", workers=3, scheme=scheme)
        result = grouped.agg(unskew.count(), unskew.sum("id"), unskew.count())
        assert result.columns == ["word", "count()", "sum(id)", "count()"]
        assert all(row[1] == row[3] for row in result.collect())


PYTHON = {
    "longest": Longest("word"),
    "top": unskew.top_k("part", 2),
    "different": unskew.distinct("money"),
    "middle": unskew.quantiles("id", (0.0, 0.5, 1.0)),
    "rows": unskew.count(),
    "mean": unskew.mean("money"),
}


def check_against_each_group(frame, result, key):
    rows = frame.toArrow()
    index = {name: rows.schema.names.index(name) for name in key}
    groups: dict[str, list[int]] = {}
    for number, row in enumerate(frame.collect()):
        groups.setdefault(str([row[index[name]] for name in key]), []).append(number)
    found = result.collect()
    assert len(found) == len(groups)
    for row in found:
        group = rows.take(groups[str([row[name] for name in key])])
        for name, aggregate in PYTHON.items():
            columns = [group[each].combine_chunks() for each in aggregate.columns or ("id",)]
            batch = pa.RecordBatch.from_arrays(columns, names=list(aggregate.columns or ("id",)))
            expected = aggregate.result(aggregate.add(aggregate.zero(), batch))
            actual = row.asDict(recursive=True)[name]
            if isinstance(actual, decimal.Decimal):
                assert abs(actual - expected) <= decimal.Decimal("1e-7")
            else:
                assert same(actual, expected)


@pytest.mark.parametrize("by_batch", sorted({aggregate_functions.BY_BATCH, False}))
def test_aggregates_in_python_are_those_of_the_whole_group(frame, monkeypatch, by_batch):
    monkeypatch.setattr(aggregate_functions, "BY_BATCH", by_batch)
    key = ["word"] if by_batch else ["part", "pair"]
    result = unskew.groupBy(frame, *key, workers=3, scheme="planned-split").agg(**PYTHON)
    assert result.columns == [*key, *PYTHON]
    assert dict(result.dtypes)["mean"] == "decimal(16,7)"
    check_against_each_group(frame, result, key)


@pytest.mark.parametrize("kept", ["true", "false"])
def test_without_a_key_there_is_one_row_also_of_no_rows(frame, kept):
    rows = frame.where(kept)
    ours = unskew.groupBy(rows).agg(**OURS, distinct=unskew.distinct("id"))
    assert_same_result(ours.drop("distinct"), rows.agg(*sparks()))
    exact = rows.agg(F.count_distinct("id")).first()[0]
    assert ours.first()["distinct"] == pytest.approx(exact, rel=0.2)


def test_level_keys_are_aggregated_in_one_step(spark):
    level = spark.range(4096).selectExpr("id % 2048 key", "id")
    result = unskew.groupBy(level, "key", scheme="kg").agg(unskew.distinct("id"))
    assert physical_plan(result).count("MapInArrow") == 1
    assert result.columns == ["key", "distinct(id)"]
    assert result.where("`distinct(id)` <> 2").count() == 0


@pytest.mark.smoke
def test_a_plan_made_before_is_followed(frame):
    made = unskew.plan(frame, "word", workers=3)
    result = unskew.groupBy(frame, "word", scheme=made).agg(n=unskew.count())
    assert_same_result(result, frame.groupBy("word").agg(F.count(F.lit(1)).alias("n")))
    with pytest.raises(ParameterError, match="the plan is for the key"):
        unskew.groupBy(frame, "part", scheme=made).agg(n=unskew.count())
    with pytest.raises(ParameterError, match="the plan has workers=3"):
        unskew.groupBy(frame, "word", workers=4, scheme=made)
    if made.partitioner.max_replicas > 1:
        with pytest.raises(NeedError, match="whole-key"):
            unskew.groupBy(frame, "word", scheme=made).applyInArrow(lambda t: t, frame.schema)


@pytest.mark.smoke
def test_repartition_keeps_rows_and_keys(frame, spark):
    placed = unskew.repartition(frame, "word", 3, scheme="routing-table")
    where = placed.select("id", "word", F.spark_partition_id().alias("place")).collect()
    assert sorted(row["id"] for row in where) == sorted(row["id"] for row in frame.collect())
    assert len({(row["word"], row["place"]) for row in where}) == len(
        {row["word"] for row in where}
    )
    level = spark.range(4096).withColumnRenamed("id", "key")
    assert "hashpartitioning" in physical_plan(unskew.repartition(level, "key", 3))


def no_jobs_with(spark, work, error, match):
    """`work` is refused, and no job has been started for it (which Spark Connect cannot tell)."""
    if os.environ.get("UNSKEW_TEST_MODE") == "connect":
        with pytest.raises(error, match=match):
            work()
        return
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("refused", "refused")
    try:
        with pytest.raises(error, match=match):
            work()
        assert list(tracker.getJobIdsForGroup("refused")) == []
    finally:
        spark.sparkContext._jsc.clearJobGroup()


def test_bad_requests_are_refused_before_any_job(spark, frame):
    def identity(table):
        return table

    def other_schema(table):
        return pa.table({"other": pa.array([], pa.int64())})

    ids = frame.select("id", "word")
    maps = frame.selectExpr("map('a', id) m", "id")
    refused = [
        (lambda: unskew.groupBy(frame, "wrod"), UnknownNameError, "did you mean 'word'"),
        (lambda: unskew.groupBy(maps, "m"), KeyTypeError, "cannot group by maps"),
        (lambda: unskew.groupBy(frame, "pair.x"), UnknownNameError, "no column 'pair.x'"),
        (lambda: unskew.groupBy(frame, 99), ParameterError, "key=99 is not in 1..7"),
        (lambda: unskew.groupBy(frame, "word", workers=0), ParameterError, "workers=0"),
        (lambda: unskew.groupBy(frame, "word", scheme="pgk"), UnknownNameError, "pkg"),
        (lambda: unskew.groupBy(frame, "word", scheme="posg"), NeedError, "planned-split"),
        (
            lambda: unskew.groupBy(ids, "word", scheme="pkg").applyInArrow(identity, ids.schema),
            NeedError,
            "these schemes do: kg",
        ),
        (
            lambda: unskew.groupBy(ids, "word").applyInArrow(
                identity, ids.schema, merge=other_schema
            ),
            SchemaError,
            "merge returned other int64; the schema is id int64, word string",
        ),
        (
            lambda: unskew.groupBy(ids, "word").applyInPandas(
                identity, ids.schema, merge=lambda rows: rows.rename(columns={"id": "x"})
            ),
            SchemaError,
            "the result of merge has the fields x, word",
        ),
        (
            lambda: unskew.groupBy(ids, "word").applyInArrow(lambda a, b, c: a, ids.schema),
            ParameterError,
            "takes 3 arguments",
        ),
        (lambda: unskew.groupBy(frame, "word").agg(), ParameterError, "nothing to aggregate"),
        (lambda: unskew.groupBy(frame, "word").agg(n=3), ParameterError, "neither a column nor"),
        (
            lambda: unskew.groupBy(frame, "word").agg(unskew.sum("x")),
            UnknownNameError,
            "no column 'x'",
        ),
        (
            lambda: unskew.groupBy(frame, "word").agg(F.sum("id"), unskew.distinct("id")),
            ParameterError,
            "aggregate twice",
        ),
        (
            lambda: unskew.groupBy(frame, "word").cogroup(unskew.groupBy(frame, "part")),
            KeyTypeError,
            "cast one of them",
        ),
        (
            lambda: unskew.repartition(frame, "word", scheme="pkg"),
            NeedError,
            "these schemes do: kg",
        ),
        (lambda: unskew.repartition(frame, "word", table=-1), ParameterError, "table=-1"),
        (lambda: unskew.groupBy(frame, "word", tabel=9), UnknownNameError, "did you mean 'table'"),
        (lambda: unskew.groupBy(frame, "word", epsilon=0), ParameterError, "epsilon=0"),
    ]
    for work, error, match in refused:
        no_jobs_with(spark, work, error, match)


@pytest.mark.parametrize("shown", ["true", "false"])
def test_keys_that_arrow_does_not_know_stay_in_spark(spark, shown):
    months = "CAST(id % 3 AS INTERVAL MONTH)"
    rows = spark.range(30).selectExpr(f"{months} m", f"array({months}) l", "id % 2 x", "id")
    spark.conf.set("spark.sql.retainGroupColumns", shown)
    for key in (["m"], ["x", "l"], [F.col("m").alias("of")]):
        grouped = unskew.groupBy(rows, *key, workers=3, scheme="planned-split")
        ours = grouped.agg(n=unskew.count(), least=unskew.min("id"), top=unskew.top_k("x", 1))
        plain = rows.groupBy(*key).agg(F.count(F.lit(1)).alias("n"), F.min("id").alias("least"))
        # Python has no such values: as text.
        text = [F.col(f"`{name}`").cast("string") for name in plain.columns]
        assert_same_result(ours.drop("top").select(*text), plain.select(*text))
    spark.conf.unset("spark.sql.retainGroupColumns")
