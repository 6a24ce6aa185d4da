"""The hash is Spark's own, for random values of every type that Spark can group by."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.hashing import hash_ids, hash_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SIZE = 300
ALPHABET = np.array(list("abcxyz019 \0äßéλЖ中😀"))

LEAVES = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(1, 0),
    pa.decimal128(18, 6),
    pa.decimal128(19, 19),
    pa.decimal128(38, 10),
    pa.decimal256(18, 2),
    pa.decimal256(38, 0),
    pa.date32(),
    pa.timestamp("s", "UTC"),
    pa.timestamp("ms"),
    pa.timestamp("us"),
    pa.timestamp("us", "Europe/Vienna"),
    pa.timestamp("ns", "UTC"),
    pa.duration("ms"),
    pa.duration("us"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.binary(5),
    pa.null(),
]

NESTED = [
    pa.struct({"a": pa.int32(), "b": pa.string(), "c": pa.float64()}),
    pa.struct({"a": pa.struct({"b": pa.struct({"c": pa.int64()}), "d": pa.bool_()})}),
    pa.struct({"a": pa.list_(pa.string()), "b": pa.null()}),
    pa.list_(pa.int16()),
    pa.large_list(pa.string()),
    pa.list_(pa.float32(), 3),
    pa.list_(pa.decimal128(38, 4)),
    pa.list_(pa.list_(pa.list_(pa.int64()))),
    pa.list_(pa.struct({"a": pa.int32(), "b": pa.string()})),
    pa.list_(pa.list_(pa.struct({"a": pa.list_(pa.struct({"b": pa.date32(), "c": pa.int8()}))}))),
]

FROM_PARQUET = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.date64(), pa.float64()]


def random_keys(kind: pa.DataType, rng: np.random.Generator, size: int = SIZE) -> pa.Array:
    """Random values of a type, one in eight of them null, the type's edges among them."""
    if pa.types.is_null(kind):
        return pa.nulls(size)
    if pa.types.is_struct(kind):
        fields = [random_keys(field.type, rng, size) for field in kind]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=random_mask(rng, size))
    if pa.types.is_fixed_size_list(kind):
        elements = random_keys(kind.value_type, rng, size * kind.list_size)
        mask = random_mask(rng, size)
        return pa.FixedSizeListArray.from_arrays(elements, type=kind, mask=mask)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = rng.integers(0, 5, size)
        elements = random_keys(kind.value_type, rng, int(lengths.sum()))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        of = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        width = pa.int64() if pa.types.is_large_list(kind) else pa.int32()
        mask = random_mask(rng, size)
        return of.from_arrays(pa.array(offsets, width), elements, type=kind, mask=mask)
    nulls = random_mask(rng, size).to_numpy(zero_copy_only=False)
    return pa.array(random_values(kind, rng, size), kind, mask=nulls)


def random_mask(rng: np.random.Generator, size: int) -> pa.Array:
    return pa.array(rng.random(size) < 1 / 8)


def random_values(kind: pa.DataType, rng: np.random.Generator, size: int) -> object:
    if pa.types.is_boolean(kind):
        return rng.random(size) < 0.5
    if pa.types.is_floating(kind):
        return random_floats(np.dtype(kind.to_pandas_dtype()), rng, size)
    if pa.types.is_decimal(kind):
        return [random_decimal(kind, rng) for _ in range(size)]
    if pa.types.is_integer(kind):
        edges = np.iinfo(kind.to_pandas_dtype())
        values = rng.integers(edges.min, edges.max, size, dtype=edges.dtype, endpoint=True)
        values[:3] = edges.min, edges.max, 0
        return values
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return ["".join(rng.choice(ALPHABET, i % 101)) for i in range(size)]
    if pa.types.is_fixed_size_binary(kind):
        return [rng.bytes(kind.byte_width) for _ in range(size)]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [rng.bytes(i % 101) for i in range(size)]
    return random_moments(kind, rng, size)


def random_floats(dtype: np.dtype, rng: np.random.Generator, size: int) -> np.ndarray:
    """Numbers of any bits, zeros of both signs, and NaNs with and without payloads."""
    bits = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
    values = bits.view(dtype).copy()
    values[:6] = 0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf
    payload = values[6:30].view(f"u{dtype.itemsize}")
    payload |= np.array(np.inf, dtype).view(payload.dtype)
    return values


def random_decimal(kind: pa.DataType, rng: np.random.Generator) -> Decimal:
    digits = "".join(rng.choice(list("0123456789"), rng.integers(1, kind.precision + 1)))
    sign = rng.choice(["", "-"])
    return Decimal(f"{sign}{digits}e-{kind.scale}")


def random_moments(kind: pa.DataType, rng: np.random.Generator, size: int) -> pa.Array:
    if pa.types.is_date32(kind):
        return rng.integers(-700_000, 2_900_000, size, dtype=np.int32)
    if pa.types.is_date64(kind):
        return rng.integers(-700_000, 2_900_000, size) * 86_400_000
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    first, last = (0, 86_400) if pa.types.is_time(kind) else (-9 * 10**9, 9 * 10**9)
    return rng.integers(first * per_second, last * per_second, size)


def rng_of(kind: pa.DataType) -> np.random.Generator:
    """Every type has its own values, the same in every run."""
    return np.random.default_rng(list(str(kind).encode()))


def spark_hashes(rows: DataFrame) -> np.ndarray:
    return rows.selectExpr("xxhash64(*) AS hash").toArrow()["hash"].to_numpy()


def assert_equal_hashes(ours: np.ndarray, spark_rows: DataFrame) -> None:
    np.testing.assert_array_equal(ours.view(np.int64), spark_hashes(spark_rows))


@pytest.mark.parametrize("kind", LEAVES + NESTED, ids=str)
def test_every_type_hashes_as_in_spark(spark: SparkSession, kind: pa.DataType) -> None:
    keys = random_keys(kind, rng_of(kind))
    assert_equal_hashes(hash_keys(keys), spark.createDataFrame(pa.table({"key": keys})))


@pytest.mark.parametrize("kind", FROM_PARQUET, ids=str)
def test_types_of_files_hash_as_spark_reads_them(
    spark: SparkSession, kind: pa.DataType, tmp_path: Path
) -> None:
    keys = random_keys(kind, rng_of(kind))
    pq.write_table(pa.table({"key": keys}), tmp_path / "keys.parquet")
    assert_equal_hashes(hash_keys(keys), spark.read.parquet(str(tmp_path)))


def test_several_columns_chain_as_in_spark(spark: SparkSession) -> None:
    columns = [random_keys(kind, rng_of(kind)) for kind in LEAVES + NESTED]
    table = pa.table(columns, names=[f"key{i}" for i in range(len(columns))])
    assert_equal_hashes(hash_keys(table), spark.createDataFrame(table))


def test_ids_hash_as_bigint(spark: SparkSession) -> None:
    assert_equal_hashes(hash_ids(np.arange(1000)), spark.range(1000))


def test_months_hash_as_year_month_intervals(spark: SparkSession) -> None:
    months = np.arange(-500, 500, dtype=np.int32)
    intervals = spark.range(-500, 500).selectExpr("make_ym_interval(0, int(id))")
    assert_equal_hashes(hash_keys(pa.array(months)), intervals)


def test_calendar_intervals_hash_as_in_spark(spark: SparkSession) -> None:
    numbers = np.arange(-500, 500)
    intervals = [(n * 3, n * 5, n * 7_000) for n in numbers.tolist()]
    rows = spark.range(-500, 500).selectExpr(
        "make_interval(0, 3 * int(id), 0, 5 * int(id), 0, 0, 0.000007 * id)"
    )
    assert_equal_hashes(hash_keys(pa.array(intervals, pa.month_day_nano_interval())), rows)


def test_keys_that_spark_groups_together_have_one_hash(spark: SparkSession) -> None:
    keys = random_keys(pa.float64(), rng_of(pa.float64()))
    groups = spark.createDataFrame(pa.table({"key": keys})).groupBy("key").count()
    assert len(np.unique(hash_keys(keys))) == groups.count()
