"""Keys as text and back: pandas, which Spark's keyed state goes through, would change them.

It has one NaN for null and NaN, and shows the hour in which clocks are set back twice. Equal text
means equal keys to Spark, and a key comes back from its text as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from unskew.errors import KeyTypeError


def texts_of(value: Column, kind: DataType) -> list[Column]:
    """The text columns of one key column: one for each of its leaves, one for a struct itself."""
    if isinstance(kind, StructType):
        there = F.when(value.isNotNull(), F.lit("1"))
        inner = [each for field in kind for each in texts_of(value[field.name], field.dataType)]
        return [there, *inner]
    return [text_of(value, kind)]


def value_of(texts: Iterator[Column], kind: DataType) -> Column:
    """The key column that `texts_of` turned into text; takes what it needs of `texts`."""
    if isinstance(kind, StructType):
        there = next(texts)
        fields = [value_of(texts, field.dataType).alias(field.name) for field in kind]
        return F.when(there.isNotNull(), F.struct(*fields)).cast(kind)
    return _value(next(texts), kind)


def check_texts(field: StructField) -> None:
    """Raise if a key has no such text."""
    kind = field.dataType
    if isinstance(kind, StructType):
        for inner in kind:
            check_texts(inner)
    elif isinstance(kind, ArrayType) or is_collated(kind):
        raise KeyTypeError(
            f"column {field.name!r} is {kind.simpleString()}: keys of this type cannot have "
            "aggregation state in Python; group by a text form of the key"
        )


def text_of(value: Column, kind: DataType) -> Column:
    """A key column of a plain type as text; equal text means equal keys."""
    if isinstance(kind, BinaryType):
        return F.hex(value)
    if isinstance(kind, TimestampType):
        # As text, an hour of each autumn would stand for two.
        return F.unix_micros(value).cast("string")
    if isinstance(kind, FloatType | DoubleType):
        return F.when(value == 0, F.lit("0.0")).otherwise(value.cast("string"))
    return value.cast("string")


def _value(text: Column, kind: DataType) -> Column:
    if isinstance(kind, BinaryType):
        return F.unhex(text)
    if isinstance(kind, TimestampType):
        return F.timestamp_micros(text.cast("bigint"))
    return text.cast(kind)


def is_collated(kind: DataType) -> bool:
    """Whether a string type has a collation other than binary."""
    return isinstance(kind, StringType) and kind.simpleString() != "string"
