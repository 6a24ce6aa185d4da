"""Small DataFrames whose keys are awkward: nulls, NaN, signed zeros, decimals, structs."""

from __future__ import annotations

import decimal
import math

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
