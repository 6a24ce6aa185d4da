"""Key columns: checked once, hashed so that keys that groupBy finds equal have equal hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.errors import AnalysisException
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

from unskew._spark.frames.helper_columns import helper_name
from unskew.errors import KeyTypeError, ParameterError, ParameterTypeError, UnknownNameError


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The columns of a key: they exist in the rows, and Spark can group by and hash their types."""

    fields: tuple[StructField, ...]
    shown: tuple[str, ...] = ()
    """The names that the user knows them by, if the columns of the rows have others."""

    @classmethod
    def of(cls, rows: DataFrame, key: str | Sequence[str]) -> KeyColumns:
        """Check `key` against the columns of `rows`."""
        check_rows("rows", rows)
        found = [StructField(name, field_of(rows, name).dataType) for name in _names(key)]
        for field in found:
            _check_type(field.name, field.dataType)
        return cls(tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        """The names as the user gave them."""
        return self.shown or self.column_names

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the rows' columns."""
        return tuple(field.name for field in self.fields)

    @property
    def columns(self) -> list[Column]:
        """The columns, by their exact names."""
        return [column(field.name) for field in self.fields]

    @property
    def hash(self) -> Column:
        """The 64-bit hash of the key as BIGINT: equal wherever groupBy finds the keys equal."""
        return F.xxhash64(*self.comparable)

    @property
    def comparable(self) -> list[Column]:
        """The columns in a form whose values are equal just where groupBy finds the keys equal."""
        return [_comparable(column(field.name), field.dataType) for field in self.fields]

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


def resolve_key(rows: DataFrame, keys: Sequence[Any]) -> tuple[DataFrame, KeyColumns]:
    """Keys as Spark's groupBy takes them: names, expressions, nested fields, positions from 1.

    A key that is not one of the rows' columns is added to them, as a helper column behind the
    others, so that it is evaluated once. No key at all makes one group of all rows.
    """
    check_rows("rows", rows)
    if not keys:
        return rows, KeyColumns(())
    if all(isinstance(key, str) and _matching(rows, key) for key in keys):
        return rows, KeyColumns.of(rows, list(keys))
    expressions = [_expression(rows, key) for key in keys]
    try:
        found = rows.select(*expressions).schema
    except AnalysisException:
        for key in keys:
            if isinstance(key, str):
                _check_exists(rows, key)
        raise
    helpers = [helper_name(f"key{place}", rows) for place in range(len(keys))]
    pairs = zip(expressions, helpers, strict=True)
    keyed = rows.select("*", *(expression.alias(helper) for expression, helper in pairs))
    for field in found:
        _check_type(field.name, field.dataType)
    fields = [
        StructField(helper, field.dataType) for helper, field in zip(helpers, found, strict=True)
    ]
    return keyed, KeyColumns(tuple(fields), tuple(found.names))


def _expression(rows: DataFrame, key: Any) -> Column:
    if isinstance(key, Column):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        if not 1 <= key <= len(rows.columns):
            raise ParameterError(
                f"key={key} is not in 1..{len(rows.columns)}, the positions of the rows' columns"
            )
        return rows[key - 1]
    if not isinstance(key, str):
        raise ParameterTypeError("key", key, "a column's name or position, or a Column")
    if not _matching(rows, key):
        return F.col(key)
    field_of(rows, key)  # Raises if there are several.
    return column(key)


def _check_exists(rows: DataFrame, key: str) -> None:
    try:
        _ = rows.select(_expression(rows, key)).schema  # Spark Connect analyses no sooner.
    except AnalysisException:
        raise UnknownNameError("column", key, rows.columns) from None


def check_rows(name: str, rows: object) -> None:
    """Raise unless `rows` is a Spark DataFrame."""
    if not isinstance(rows, DataFrame):
        raise ParameterTypeError(name, rows, "a Spark DataFrame (spark.createDataFrame makes one)")


def column(name: str) -> Column:
    """A column by its exact name, dots and backticks included."""
    return F.col("`" + name.replace("`", "``") + "`")


def content_hash(rows: DataFrame) -> Column:
    """A 64-bit hash of the row: of the columns that Spark can hash and a name tells apart."""
    names = [field.name for field in told_apart(rows) if not contains(field.dataType, _UNHASHABLE)]
    return F.xxhash64(*(column(name) for name in names)) if names else F.lit(42).cast("bigint")


def told_apart(rows: DataFrame) -> list[StructField]:
    """The columns that no other has the name of, also where Spark ignores case."""
    schema = rows.schema
    seen = Counter(name.lower() for name in schema.names)
    return [field for field in schema if seen[field.name.lower()] == 1]


def field_of(rows: DataFrame, name: str) -> StructField:
    """The field that Spark finds by `name`; raises if there is none or more than one."""
    found = _matching(rows, name)
    if not found:
        raise UnknownNameError("column", name, rows.columns)
    if len(found) > 1:
        raise ParameterError(
            f"the rows have {len(found)} columns named {name!r}; rename all but one"
        )
    return found[0]


def place_of(rows: DataFrame, name: str) -> int:
    """The place of the column that Spark finds by `name`."""
    return rows.columns.index(field_of(rows, name).name)


def _matching(rows: DataFrame, name: str) -> list[StructField]:
    found = [field for field in rows.schema if field.name.lower() == name.lower()]
    if any(field.name != name for field in found) and _case_matters(rows):
        found = [field for field in found if field.name == name]
    return found


def _case_matters(rows: DataFrame) -> bool:
    return str(rows.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


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


def _comparable(value: Column, kind: DataType) -> Column:
    if is_lower_case(kind):
        # The collation lowers letter by letter, lower() gives a sigma at a word's end another form.
        return F.translate(F.collate(F.lower(value), "UTF8_BINARY"), "ς", "σ")
    return value


def is_lower_case(kind: DataType) -> bool:
    """Whether strings of a type are equal if they are once in lower case."""
    return isinstance(kind, StringType) and _collation(kind) == "UTF8_LCASE"


def _check_type(name: str, kind: DataType) -> None:
    if contains(kind, _UNHASHABLE):
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: Spark cannot group by maps and variants; "
            "extract a column of a plain type from it"
        )
    if is_lower_case(kind):
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


def of_one_frame(given: Column, rows: DataFrame) -> bool:
    """Whether a column of Spark Connect belongs to a DataFrame (`df["x"]`), and to no other."""
    plan: Any = given
    return "plan_id" in str(plan.to_plan(rows.sparkSession.client))
