"""Key columns: checked once, hashed so that keys that groupBy finds equal have equal hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

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


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns of a key: they exist in the rows, and Spark can group by and hash their types."""

    fields: tuple[StructField, ...]

    @classmethod
    def of(cls, rows: DataFrame, key: str | Sequence[str]) -> KeyColumns:
        """Check `key` against the columns of `rows`."""
        check_rows("rows", rows)
        found = [StructField(name, _field(rows.schema, name).dataType) for name in _names(key)]
        for field in found:
            _check_type(field.name, field.dataType)
        return cls(tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        """The names as the user gave them."""
        return tuple(field.name for field in self.fields)

    @property
    def columns(self) -> list[Column]:
        """The columns, by their exact names."""
        return [column(field.name) for field in self.fields]

    @property
    def hash(self) -> Column:
        """The 64-bit hash of the key as BIGINT: equal wherever groupBy finds the keys equal."""
        return F.xxhash64(*(_hashable(field) for field in self.fields))

    @property
    def any_null(self) -> Column:
        """Whether one of the columns is null."""
        return reduce(Column.__or__, (each.isNull() for each in self.columns))

    def differing_types(self, other: KeyColumns) -> list[tuple[StructField, StructField]]:
        """The pairs of columns whose equal values have different hashes, such as INT and BIGINT."""
        return [
            (mine, theirs)
            for mine, theirs in zip(self.fields, other.fields, strict=True)
            # Nullability does not touch the hash, and simpleString leaves it out.
            if mine.dataType.simpleString() != theirs.dataType.simpleString()
        ]


def check_rows(name: str, rows: object) -> None:
    """Raise unless `rows` is a Spark DataFrame."""
    if not isinstance(rows, DataFrame):
        raise ParameterTypeError(name, rows, "a Spark DataFrame (spark.createDataFrame makes one)")


def column(name: str) -> Column:
    """A column by its exact name, dots and backticks included."""
    return F.col("`" + name.replace("`", "``") + "`")


def content_hash(rows: DataFrame) -> Column:
    """A 64-bit hash of the whole row, as far as Spark can hash its columns."""
    names = [field.name for field in rows.schema if not contains(field.dataType, _UNHASHABLE)]
    return F.xxhash64(*(column(name) for name in names)) if names else F.lit(42).cast("bigint")


_UNHASHABLE = (MapType, VariantType)


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


def _field(schema: StructType, name: str) -> StructField:
    # Spark's names differ by more than case only under spark.sql.caseSensitive; an exact name wins.
    found = [field for field in schema if field.name == name]
    found = found or [field for field in schema if field.name.lower() == name.lower()]
    if not found:
        raise UnknownNameError("column", name, schema.names)
    if len(found) > 1:
        raise ParameterError(
            f"the rows have {len(found)} columns named {name!r}; rename all but one"
        )
    return found[0]


def _hashable(field: StructField) -> Column:
    if isinstance(field.dataType, StringType) and _collation(field.dataType) == "UTF8_LCASE":
        # The collation lowers letter by letter, lower() gives a sigma at a word's end another form.
        lowered = F.collate(F.lower(column(field.name)), "UTF8_BINARY")
        return F.translate(lowered, "ς", "σ")
    return column(field.name)


def _check_type(name: str, kind: DataType) -> None:
    if contains(kind, _UNHASHABLE):
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: Spark cannot group by maps and variants; "
            "extract a column of a plain type from it"
        )
    if isinstance(kind, StringType) and _collation(kind) == "UTF8_LCASE":
        return
    if contains(kind, StringType, collated=True):
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: equal strings of this collation have "
            f"different hashes; group by lower({name}) or collate({name}, 'UTF8_BINARY')"
        )


def _collation(kind: StringType) -> str:
    return str(getattr(kind, "collation", "UTF8_BINARY"))


def contains(
    kind: DataType, wanted: type[DataType] | tuple[type[DataType], ...], collated: bool = False
) -> bool:
    """Whether a type is, or has inside, one of `wanted`; if `collated`, one with a collation."""
    if isinstance(kind, wanted):
        return not collated or _collation(kind) != "UTF8_BINARY"  # type: ignore[arg-type]
    if isinstance(kind, ArrayType):
        return contains(kind.elementType, wanted, collated)
    if isinstance(kind, StructType):
        return any(contains(field.dataType, wanted, collated) for field in kind)
    return False
