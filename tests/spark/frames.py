"""Small DataFrames whose keys are awkward: nulls, NaN, signed zeros, decimals, structs."""

from __future__ import annotations

import decimal
import math

from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "id bigint, word string, number double, money decimal(12,3), "
    "pair struct<a: int, b: string>, part int, blob binary"
)
KEYS: list[list[str]] = [
    ["word"],
    ["number"],
    ["money"],
    ["pair"],
    ["blob"],
    ["word", "part"],
    ["number", "pair", "word"],
]


def awkward(spark: SparkSession, rows: int = 400, partitions: int = 1) -> DataFrame:
    """`rows` rows, a third of them with the same hot key, on `partitions` partitions."""
    numbers = [0.0, -0.0, math.nan, float("-nan"), math.inf, None, 1.5, -1.5]
    data = [
        (
            i,
            None if i % 11 == 0 else "hot" if i % 3 == 0 else f"word {i % 37}",
            numbers[i % len(numbers)],
            None if i % 13 == 0 else decimal.Decimal(i % 17).scaleb(-3),
            None if i % 7 == 0 else (i % 5, None if i % 5 == 0 else "x"),
            i % 4 or None,
            None if i % 19 == 0 else bytes([i % 23]),
        )
        for i in range(rows)
    ]
    return spark.createDataFrame(data, SCHEMA).coalesce(1).repartition(partitions)


_words = st.none() | st.sampled_from(["hot", "", "Ω", "a.b"])
_numbers = st.none() | st.sampled_from([0.0, -0.0, math.nan, math.inf, 0.1])
_money = st.none() | st.decimals(-9, 9, places=3)
_pairs = st.none() | st.tuples(st.none() | st.integers(0, 2), _words)
_blobs = st.none() | st.binary(max_size=1)
_row = st.tuples(_words, _numbers, _money, _pairs, st.none() | st.integers(0, 3), _blobs)
awkward_rows = st.lists(_row, min_size=10, max_size=40)
"""Rows of `SCHEMA` without their ids."""


def frame_of(spark: SparkSession, rows: list[tuple]) -> DataFrame:
    """A frame of `awkward_rows`, numbered."""
    return spark.createDataFrame([(i, *row) for i, row in enumerate(rows)], SCHEMA).coalesce(2)
