"""User columns named like unskew's helper columns change no result; for joins see column names."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote
from tests.spark.streams import final, read_batches, run_stream, write_batches

import unskew

pytestmark = pytest.mark.spark

KEYS = [
    ("word", "__unskew_key0", "__UNSKEW_WHOLE", "__unskew_worker"),
    ("__Unskew_Key1", "__unskew_state0", "__UNSKEW_STATE"),
]
STEMS = ("key0", "key1", "whole", "worker", "state", "state0", "part0", "position", "report")
SCHEMA = "`__unskew_key0` bigint, `__unskew_Whole` bigint"
"""Of a function's result: the sum of the ids, and how many columns the function saw."""


def frame_of(spark, keys):
    """Rows with a hot key, `keys` as key columns and a value column for every other helper."""
    taken = {name.lower() for name in keys}
    names = [f"__unskew_{stem}" for stem in STEMS]
    first = F.when(F.col("id") % 3 > 0, F.lit("hot")).otherwise(F.concat(F.lit("w"), F.col("id")))
    return spark.range(0, 90, 1, 2).select(
        "id",
        first.alias(keys[0]),
        *((F.col("id") % 2).alias(key) for key in keys[1:]),
        *(F.lit(-1).alias(name.upper()) for name in names if name not in taken),
    )


def seen_in_arrow(table: pa.Table) -> pa.Table:
    total = sum(table["id"].to_pylist())
    return pa.table({"__unskew_Whole": [table.num_columns], "__unskew_key0": [total]})


def merged_in_arrow(table: pa.Table) -> pa.Table:
    total = sum(table["__unskew_key0"].to_pylist())
    columns = max(table["__unskew_Whole"].to_pylist(), default=0)
    return pa.table({"__unskew_key0": [total], "__unskew_Whole": [columns]})


def seen_in_pandas(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"__unskew_Whole": [rows.shape[1]], "__unskew_key0": [rows["id"].sum()]})


def merged_in_pandas(rows: pd.DataFrame) -> pd.DataFrame:
    found = [rows["__unskew_key0"].sum(), rows["__unskew_Whole"].max()]
    return pd.DataFrame([found], columns=["__unskew_key0", "__unskew_Whole"])


@pytest.mark.parametrize("keys", KEYS, ids="-".join)
def test_group_functions(spark, keys):
    frame = frame_of(spark, keys)
    wanted = frame.groupBy(*keys).agg(F.sum("id")).select("sum(id)", F.lit(len(frame.columns)))
    expected = sorted(map(tuple, wanted.collect()))
    grouped = unskew.groupBy(frame, *keys, workers=3, scheme="planned-split")
    for result in (
        grouped.applyInArrow(seen_in_arrow, SCHEMA, merge=merged_in_arrow),
        grouped.applyInPandas(seen_in_pandas, SCHEMA, merge=merged_in_pandas),
    ):
        assert sorted(map(tuple, result.collect())) == expected


@pytest.mark.parametrize("keys", KEYS, ids="-".join)
def test_aggregates(spark, keys):
    frame = frame_of(spark, keys)
    wanted = frame.groupBy(*keys).agg(F.count(F.lit(1)), F.sum("id"))
    expected = sorted(map(tuple, wanted.collect()))
    grouped = unskew.groupBy(frame, *keys, workers=3, scheme="planned-split")
    native = grouped.agg(n=unskew.count(), t=unskew.sum("id"))
    python = grouped.agg(n=unskew.count(), t=unskew.sum("id"), d=unskew.distinct("id"))
    for result in (native, python.drop("d")):
        assert result.columns[: len(keys)] == list(keys)
        assert sorted(map(tuple, result.collect())) == expected


STREAMED = "id bigint, `__unskew_state` string, `__UNSKEW_PART0` bigint, `__unskew_rows` bigint"
STREAM_KEY = ("__unskew_state", "__UNSKEW_PART0", "__unskew_rows")


def sums(table: pa.Table) -> pa.Table:
    return pa.table({"__UNSKEW_REPORT": [sum(table["id"].to_pylist())]})


def test_streams(spark, tmp_path):
    rows = [(i, f"w{i % 3}", i % 2, i % 2) for i in range(24)]
    schema = write_batches(spark, tmp_path / "in", STREAMED, [rows[:10], rows[10:]])
    stream = read_batches(spark, tmp_path / "in", schema)
    batch = spark.read.schema(schema).parquet(str(tmp_path / "in"))
    expected = sorted(map(tuple, batch.groupBy(*STREAM_KEY).agg(F.sum("id")).collect()))

    def by(**wish):
        return unskew.streaming.groupBy(stream, *STREAM_KEY, workers=2, **wish)

    total = F.sum("__UNSKEW_REPORT").alias("t")
    results = {
        "algebraic": by(scheme="pkg").agg(t=unskew.sum("id")),
        "python": by().agg(t=unskew.sum("id"), d=unskew.distinct("id")).drop("d"),
        "function": by().applyInArrow(sums, "`__UNSKEW_REPORT` bigint", merge=[total]),
    }
    for name, result in results.items():
        (tmp_path / name).mkdir()
        found = final(run_stream(result, "update", tmp_path / name), STREAM_KEY)
        assert sorted(map(tuple, found.collect())) == expected
    if is_remote():
        return
    kept = by(scheme="planned-split").replanned(str(tmp_path / "store"), t=unskew.sum("id"))
    writer = kept.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert kept.result().columns == [*STREAM_KEY, "t"]
    assert sorted(map(tuple, kept.result().collect())) == expected


def test_functions_scheduled_by_cost(spark):
    names = ["__unskew_hash", "__UNSKEW_PART", "__unskew_costs", "__unskew_worker"]
    rows = spark.range(0, 40, 1, 3).select("id", *(F.col("id").alias(name) for name in names))

    def same(batches):
        yield from batches

    wanted = sorted(map(tuple, rows.collect()))
    for verb in (unskew.mapInArrow, unskew.mapInPandas):
        result = verb(rows, same, rows.schema, cost_key="__unskew_hash", workers=2)
        assert result.columns == rows.columns
        assert sorted(map(tuple, result.collect())) == wanted


def test_a_result_named_like_the_worker_column(spark):
    rows = spark.range(30).withColumn("key", F.col("id") % 3)
    wanted = {"__unskew_worker": F.sum("id"), "__UNSKEW_worker_": F.max("id")}
    ours = unskew.groupBy(rows, "key", workers=2, scheme="kg").agg(**wanted)
    plain = rows.groupBy("key").agg(*(each.alias(name) for name, each in wanted.items()))
    assert ours.columns == plain.columns
    assert sorted(ours.collect()) == sorted(plain.collect())
