"""Groups with their keys, also in a session whose results leave them out."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, StructType

from unskew._spark.frames.files import is_connect
from unskew._spark.frames.keys import contains
from unskew._spark.frames.physical_plan import is_true


def keys_are_shown(rows: DataFrame) -> bool:
    """Whether Spark's aggregations have the columns of the key in their results."""
    # Spark Connect shows them whatever the session says.
    return is_connect(rows) or is_true(rows, "spark.sql.retainGroupColumns")


def aggregate_by(rows: DataFrame, keys: Sequence[Column], *results: Column) -> DataFrame:
    """A row for each group: its keys, then the results, whatever the session says."""
    grouped = rows.groupBy(*keys)
    return grouped.agg(*results) if keys_are_shown(rows) else grouped.agg(*keys, *results)


def shown(value: Column, kind: DataType) -> Column:
    """A key as Spark's own aggregations show it: zeros without a sign, unlike beside a function."""
    match kind:
        case FloatType() | DoubleType():
            return F.when(value == 0, F.lit(0).cast(kind)).otherwise(value)
        case StructType() if _has_zeros(kind):
            inner = [shown(value[field.name], field.dataType).alias(field.name) for field in kind]
            return F.when(value.isNotNull(), F.struct(*inner))
        case ArrayType() if _has_zeros(kind):
            return F.transform(value, lambda each: shown(each, kind.elementType))
    return value


def _has_zeros(kind: DataType) -> bool:
    return contains(kind, (FloatType, DoubleType))
