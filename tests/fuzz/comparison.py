"""Rows and schemas in a form in which equal means equal to the last bit.

Rows become JSON in the JVM: no value passes through Python, where instants lose their offset and
far dates do not exist. NaN, -0.0, null and the digits of decimals stay what they are.
"""

from __future__ import annotations

from collections import Counter

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

Rows = Counter[str]


def schema_of(rows: DataFrame) -> list[str]:
    """Names and types; whether a column may be null is Spark's own guess."""
    return [f"{field.name}: {field.dataType.simpleString()}" for field in rows.schema]


def rows_of(rows: DataFrame, any_equal: bool) -> Rows:
    """How often each row is there.

    `any_equal`: which of several equal strings of a collation a group shows does not matter, nor
    the sign of zeros inside arrays.
    """
    named = rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))
    columns = [
        _exact(F.col(field.name), field.dataType, any_equal).alias(field.name)
        for field in named.schema
    ]
    text = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    return Counter(row[0] for row in named.select(text.alias("row")).collect())


def _exact(column: Column, kind: DataType, any_equal: bool) -> Column:
    if any_equal and "collate" in kind.simpleString():
        if isinstance(kind, StringType):
            # Equal strings have equal ranks, and both results have the same strings, or differ.
            return F.dense_rank().over(Window.orderBy(column))
        if isinstance(kind, StructType):
            inner = [
                _exact(column[each.name], each.dataType, True).alias(each.name) for each in kind
            ]
            return F.struct(*inner)
    if any_equal and isinstance(kind, ArrayType) and _has_floats(kind):
        return F.transform(column, lambda each: _unsigned(each, kind.elementType))
    written = _written(kind)
    return column if written == kind else column.cast(written)


def _unsigned(column: Column, kind: DataType) -> Column:
    """Zeros without their sign, which only compiled plans of Spark drop in the arrays of a key."""
    if isinstance(kind, FloatType | DoubleType):
        return column + F.lit(0).cast(kind)
    if isinstance(kind, StructType):
        inner = [_unsigned(column[each.name], each.dataType).alias(each.name) for each in kind]
        return F.struct(*inner)
    return _exact(column, kind, any_equal=False)


def _has_floats(kind: DataType) -> bool:
    return any(word in kind.simpleString() for word in ("float", "double"))


def _written(kind: DataType) -> DataType:
    """A type with the same values that JSON writes in full."""
    match kind:
        case TimestampType():
            return DecimalType(20, 6)
        case DateType() | TimestampNTZType() | DayTimeIntervalType() | YearMonthIntervalType():
            return StringType()
        case _ if kind.simpleString().startswith("time("):
            return StringType()
        case ArrayType():
            return ArrayType(_written(kind.elementType), kind.containsNull)
        case MapType():
            inner = _written(kind.keyType), _written(kind.valueType)
            return MapType(*inner, kind.valueContainsNull)
        case StructType():
            fields = [StructField(f.name, _written(f.dataType), f.nullable) for f in kind]
            return StructType(fields)
    return kind


def difference(plain: Rows, ours: Rows) -> str:
    """Some rows of each that the other has not; "" if there are none."""
    missing, more = plain - ours, ours - plain
    if not missing and not more:
        return ""
    shown = [f"- {row}  x{count}" for row, count in missing.most_common(3)]
    shown += [f"+ {row}  x{count}" for row, count in more.most_common(3)]
    return f"{missing.total()} rows missing, {more.total()} too many\n" + "\n".join(shown)
