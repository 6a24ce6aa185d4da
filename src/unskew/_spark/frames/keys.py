"""The key of a row: which columns, and their hash as groupBy would tell them apart."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from unskew.errors import KeyTypeError, ParameterError, ParameterTypeError, UnknownNameError


def key_columns(rows: DataFrame, key: str | Sequence[str]) -> list[str]:
    """The names of the key's columns, checked against `rows`."""
    check_rows("rows", rows)
    names = _names(key)
    for name in names:
        field = _field(rows.schema, name)
        _check_type(field.name, field.dataType)
    return names


def check_rows(name: str, rows: object) -> None:
    """Refuse what is not a DataFrame of Spark."""
    if not isinstance(rows, DataFrame):
        raise ParameterTypeError(
            name, rows, "a DataFrame of Spark (spark.createDataFrame makes one)"
        )


def _names(key: object) -> list[str]:
    if isinstance(key, str):
        return [key]
    if isinstance(key, Column) or not isinstance(key, Sequence):
        raise ParameterTypeError("key", key, "the name of a column or a list of names")
    if not key:
        raise ParameterError("key names no column; give a column or a list of columns")
    for name in key:
        if not isinstance(name, str):
            raise ParameterTypeError("key", name, "the name of a column")
    return list(key)


def column(name: str) -> Column:
    """A column by its exact name, dots and backticks included."""
    return F.col("`" + name.replace("`", "``") + "`")


def key_hash(rows: DataFrame, key: str | Sequence[str]) -> Column:
    """The 64-bit hash of the key as BIGINT: equal wherever groupBy finds the keys equal."""
    return F.xxhash64(*(_hashable(rows.schema, name) for name in key_columns(rows, key)))


def content_hash(rows: DataFrame) -> Column:
    """A 64-bit hash of the whole row, as far as Spark can hash its columns."""
    names = [field.name for field in rows.schema if not _contains(field.dataType, _UNHASHABLE)]
    return F.xxhash64(*(column(name) for name in names)) if names else F.lit(42).cast("bigint")


_UNHASHABLE = (MapType, VariantType)


def _field(schema: StructType, name: str) -> StructField:
    # Spark's names differ by more than case only under spark.sql.caseSensitive; an exact name wins.
    found = [field for field in schema if field.name == name]
    found = found or [field for field in schema if field.name.lower() == name.lower()]
    if not found:
        raise UnknownNameError("column", name, schema.names)
    if len(found) > 1:
        raise ParameterError(
            f"the rows have {len(found)} columns called {name!r}; rename all but one"
        )
    return found[0]


def _hashable(schema: StructType, name: str) -> Column:
    kind = _field(schema, name).dataType
    if isinstance(kind, StringType) and _collation(kind) == "UTF8_LCASE":
        return F.lower(F.collate(column(name), "UTF8_BINARY"))
    return column(name)


def _check_type(name: str, kind: DataType) -> None:
    if _contains(kind, _UNHASHABLE):
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: Spark cannot group by maps and variants; "
            "take a column of a plain type out of it"
        )
    if isinstance(kind, StringType) and _collation(kind) == "UTF8_LCASE":
        return
    if _contains(kind, StringType, collated=True):
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: equal strings of this collation have "
            f"different hashes; group by lower({name}) or collate({name}, 'UTF8_BINARY')"
        )


def _collation(kind: StringType) -> str:
    return str(getattr(kind, "collation", "UTF8_BINARY"))


def _contains(
    kind: DataType, wanted: type[DataType] | tuple[type[DataType], ...], collated: bool = False
) -> bool:
    if isinstance(kind, wanted):
        return not collated or _collation(kind) != "UTF8_BINARY"  # type: ignore[arg-type]
    if isinstance(kind, ArrayType):
        return _contains(kind.elementType, wanted, collated)
    if isinstance(kind, StructType):
        return any(_contains(field.dataType, wanted, collated) for field in kind)
    return False
