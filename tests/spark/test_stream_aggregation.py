"""Aggregates of a stream are those of all its rows at once, however they are cut and routed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F
from tests.aggregates.longest import Longest
from tests.effort import few_jobs
from tests.spark.frames import KEYS, SCHEMA, awkward, awkward_rows
from tests.spark.streams import final, read_batches, run_stream, write_batches
from tests.spark.test_aggregation import OURS, PYTHON, check_against_each_group, sparks

import unskew
from unskew._spark.frames.physical_plan import physical_plan
from unskew.errors import (
    KeyTypeError,
    NeedError,
    ParameterError,
    ParameterTypeError,
    SchemaError,
    UnknownNameError,
)
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1)
TIMED = "time timestamp, word string, x bigint"


@st.composite
def cut_streams(draw):
    """Rows with their ids, cut into micro-batches."""
    rows = [(i, *row) for i, row in enumerate(draw(awkward_rows))]
    cut = draw(st.integers(1, len(rows) - 1))
    return [rows[:cut], rows[cut:]]


@few_jobs
@given(
    batches=cut_streams(),
    key=st.sampled_from(KEYS),
    scheme=st.sampled_from(["pkg", "porc", "d-choices", "kg", "sg"]),
    workers=st.sampled_from([1, 3, 40]),
)
def test_split_aggregates_are_sparks(spark, tmp_path_factory, batches, key, scheme, workers):
    folder = tmp_path_factory.mktemp("stream")
    schema = write_batches(spark, folder / "in", SCHEMA, batches)
    stream = read_batches(spark, folder / "in", schema)
    result = unskew.streaming.groupBy(stream, *key, workers=workers, scheme=scheme).agg(**OURS)
    found = final(run_stream(result, "complete", folder))
    rows = spark.read.schema(schema).parquet(str(folder / "in"))
    assert_same_result(found, rows.groupBy(*key).agg(*sparks()))


@few_jobs
@given(
    batches=cut_streams(), key=st.sampled_from([["word", "pair"], ["number"], ["money", "blob"]])
)
def test_aggregates_in_python_are_those_of_the_whole_group(spark, tmp_path_factory, batches, key):
    folder = tmp_path_factory.mktemp("stream")
    schema = write_batches(spark, folder / "in", SCHEMA, batches)
    stream = read_batches(spark, folder / "in", schema)
    result = unskew.streaming.groupBy(stream, *key, workers=3).agg(**PYTHON)
    assert dict(result.dtypes)["mean"] == "decimal(16,7)"
    found = final(run_stream(result, "update", folder), key)
    rows = spark.read.schema(schema).parquet(str(folder / "in"))
    if key == ["number"]:
        # Python's dictionaries do not tell NaN from NaN: the groups are those of their text.
        rows, found, key = _by_text(rows), _by_text(found), ["text"]
    check_against_each_group(rows, found, key)


def _by_text(rows):
    number = F.when(F.col("number") == 0, F.lit("0.0")).otherwise(F.col("number").cast("string"))
    return rows.withColumn("text", number)


LATE = [
    [(0, "a"), (1, "b"), (3, "a"), (3, None), (11, "a"), (12, "a"), (26, "b")],
    [(1, "a"), (14, "b"), (27, "a"), (41, "a")],
    [(5, "c"), (30, "a"), (42, "b"), (70, "a")],
]


def timed_batches(batches):
    return [[(START + timedelta(minutes=m), word, m) for m, word in rows] for rows in batches]


def by_batch(output):
    return sorted(map(str, output.collect()))


@pytest.mark.parametrize("mode", ["append", "update"])
def test_late_rows_and_windows_are_as_in_plain_spark(spark, tmp_path, mode):
    schema = write_batches(spark, tmp_path / "in", TIMED, timed_batches(LATE))
    stream = read_batches(spark, tmp_path / "in", schema).withWatermark("time", "10 minutes")
    window = F.window("time", "10 minutes", "5 minutes")
    plain = stream.groupBy(window, "word").agg(F.count(F.lit(1)).alias("n"), F.max("x").alias("m"))
    split = unskew.streaming.groupBy(stream, window, "word", workers=3, scheme="porc")
    python = unskew.streaming.groupBy(stream, window, "word", workers=3, mode=mode)
    results = {
        "plain": plain,
        "split": split.agg(n=unskew.count(), m=unskew.max("x")),
        "python": python.agg(n=unskew.count(), m=unskew.max("x"), d=unskew.top_k("x")).drop("d"),
    }
    outputs = {}
    for name, result in results.items():
        (tmp_path / name).mkdir()
        outputs[name] = by_batch(run_stream(result, mode, tmp_path / name))
    # The same rows in the same batches: windows close when Spark closes them.
    assert len(outputs["plain"]) > 5
    assert outputs["split"] == outputs["plain"]
    assert outputs["python"] == outputs["plain"]


@pytest.mark.smoke
def test_a_stream_goes_on_where_it_stopped(spark, tmp_path):
    rows = [tuple(row) for row in awkward(spark, 90).collect()]
    schema = write_batches(spark, tmp_path / "in", SCHEMA, [rows[:40]])

    def run(name, mode, scheme, aggregates):
        stream = read_batches(spark, tmp_path / "in", schema)
        grouped = unskew.streaming.groupBy(stream, "word", workers=2, scheme=scheme, mode=mode)
        (tmp_path / name).mkdir(exist_ok=True)
        return run_stream(grouped.agg(**aggregates), mode, tmp_path / name)

    for _ in range(2):
        split = final(run("split", "update", "pkg", OURS), ["word"])
        python = final(run("python", "update", "auto", PYTHON), ["word"])
        read = spark.read.schema(schema).parquet(str(tmp_path / "in"))
        assert_same_result(split, read.groupBy("word").agg(*sparks()))
        check_against_each_group(read, python, ["word"])
        write_batches(spark, tmp_path / "in", SCHEMA, [rows[40:]])
    with pytest.raises(Exception, match="states of other aggregates"):
        run("python", "update", "auto", {**PYTHON, "top": unskew.top_k("part", 3)})


def longest(table: pa.Table) -> pa.Table:
    words = [word for word in table["word"].to_pylist() if word is not None]
    found = {"n": [table.num_rows], "most": [max(map(len, words), default=0)]}
    return pa.table(found) if words else pa.table({"most": [0], "n": [table.num_rows]})


def test_costly_parts_by_a_plan_from_history(spark, tmp_path, caplog):
    rows = [tuple(row) for row in awkward(spark, 120).collect()]
    schema = write_batches(spark, tmp_path / "in", SCHEMA, [rows[:60], rows[60:]])
    history = spark.read.schema(schema).parquet(str(tmp_path / "in"))
    stream = read_batches(spark, tmp_path / "in", schema)
    with caplog.at_level("INFO", logger="unskew"):
        grouped = unskew.streaming.groupBy(stream, "part", workers=3, history=history)
        result = grouped.applyInArrow(
            longest, "n int, most bigint", merge=[F.sum("n").alias("n"), F.max("most").alias("m")]
        )
    assert "planned from history" in caplog.text
    plain = history.groupBy("part").agg(
        F.count(F.lit(1)).alias("n"), F.max(F.coalesce(F.length("word"), F.lit(0))).alias("m")
    )
    found = final(run_stream(result, "complete", tmp_path))
    assert_same_result(found, plain.withColumn("m", F.col("m").cast("bigint")))


def test_what_spark_combines_is_left_to_it(spark, tmp_path, caplog, capsys):
    stream = _any_stream(spark, tmp_path)
    with caplog.at_level("INFO", logger="unskew"):
        grouped = unskew.streaming.groupBy(stream, "word", workers=2)
        result = grouped.agg(F.max("x"), n=unskew.count())
    assert "plain Spark: Spark combines these aggregates" in caplog.text
    assert "MapInArrow" not in physical_plan(result)
    assert result.columns == ["word", "max(x)", "n"]
    assert "MapInArrow" in physical_plan(grouped.agg(unskew.distinct("x")))
    grouped.explain(n=unskew.count())
    grouped.explain(d=unskew.distinct("x"))
    said = capsys.readouterr().out
    assert "plain Spark" in said
    assert "w-choices on 2 workers" in said
    assert "keyed state, output mode update" in said


def _any_stream(spark, folder):
    schema = write_batches(spark, folder / "in", TIMED, [])
    return read_batches(spark, folder / "in", schema)


def test_bad_requests_are_refused(spark, tmp_path):
    stream = _any_stream(spark, tmp_path)
    batch = spark.range(3).selectExpr("id x", "'w' word", "current_timestamp() time")
    lists = stream.selectExpr("array(word) words", "x")
    other_plan = unskew.plan(batch, "word", workers=2)
    by = unskew.streaming.groupBy

    def identity(table):
        return table

    refused = [
        (lambda: by(batch, "word"), ParameterError, "not a streaming DataFrame"),
        (lambda: by(stream, "wrod"), UnknownNameError, "did you mean 'word'"),
        (lambda: by(stream, "word", "word"), ParameterError, "twice"),
        (lambda: by(stream, F.upper("word").alias("x")), ParameterError, "alias"),
        (lambda: by(stream, F.session_window("time", "1 minute")), ParameterError, "session"),
        (lambda: by(stream, "word", scheme="pgk"), UnknownNameError, "pkg"),
        (lambda: by(stream, "word", scheme="posg"), NeedError, "mergeable"),
        (lambda: by(stream, "word", mode=3), ParameterTypeError, "mode=3 is of type int"),
        (
            lambda: by(stream, "word", scheme="planned-split").agg(k=unskew.top_k("x")),
            ParameterError,
            "give history=",
        ),
        (lambda: by(stream, "word", scheme="pkg", history=batch), ParameterError, "needs none"),
        (lambda: by(stream, "word", history=stream), ParameterError, "batch of rows"),
        (lambda: by(stream, "word", table=9), ParameterError, "belong to a plan"),
        (
            lambda: by(stream, "word", mode="complete").agg(unskew.distinct("x")),
            ParameterError,
            "mode='update'",
        ),
        (
            lambda: by(stream, "word", mode="append").agg(unskew.distinct("x")),
            ParameterError,
            "withWatermark",
        ),
        (
            lambda: by(stream, "word", mode="bogus").agg(unskew.count()),
            ParameterError,
            "not one of",
        ),
        (
            lambda: by(lists, "words").agg(unskew.distinct("x")),
            KeyTypeError,
            "text form of the key",
        ),
        (lambda: by(stream, "word", scheme="pkg").agg(F.sum("x")), NeedError, "cannot be split"),
        (
            lambda: by(stream, "word").agg(F.sum("x"), Longest("word")),
            ParameterError,
            "aggregate twice",
        ),
        (lambda: by(stream, "x", scheme="pkg").agg(unskew.sum("time")), ParameterError, "sum"),
        (
            lambda: by(stream, "word").applyInArrow(identity, "n int", merge=[]),
            ParameterError,
            "merge must be",
        ),
        (
            lambda: by(stream, "word").applyInArrow(identity, "word int", merge=[F.sum("word")]),
            SchemaError,
            "the key's column word",
        ),
        (
            lambda: by(stream, "x", scheme=other_plan).agg(unskew.distinct("x")),
            ParameterError,
            "the plan is for",
        ),
    ]
    for work, error, match in refused:
        with pytest.raises(error, match=match):
            work()
