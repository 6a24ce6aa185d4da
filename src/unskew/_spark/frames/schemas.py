"""Schemas: of functions' results, as text or Spark types, and as Arrow types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas import types
from pyspark.sql.types import DataType, StructType

from unskew.errors import SchemaError

# Arrow's timestamps carry the zone that they are shown in; the instant is the same in all.
_ZONE: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(types.to_arrow_type).parameters else {}
)

_EXAMPLE = "name columns and types, such as 'user string, n bigint'"


def struct_of(schema: object, name: str = "schema") -> StructType:
    """The schema, parsed if it is text; raises if it names no columns."""
    struct = schema
    if isinstance(schema, str):
        try:
            struct = StructType.fromDDL(schema)
        except (PySparkException, ValueError) as error:
            raise SchemaError(f"{name}={schema[:200]!r} cannot be read; {_EXAMPLE}") from error
    if not isinstance(struct, StructType) or not struct.fields:
        raise SchemaError(f"{name}={str(schema)[:200]!r} names no columns; {_EXAMPLE}")
    return struct


def check_names(found: Collection[str], wanted: Collection[str], what: str) -> None:
    """Raise unless `found` are the names of the schema, each once and in any order."""
    if set(found) != set(wanted) or len(found) != len(wanted):
        raise SchemaError(
            f"{what} has the fields {', '.join(map(str, found))}; "
            f"the schema has {', '.join(wanted)}"
        )


def arrow_type(kind: DataType) -> pa.DataType:
    """The Arrow type of a Spark type."""
    return types.to_arrow_type(kind, **_ZONE)


def in_utc(schema: pa.Schema) -> pa.Schema:
    """A schema with the zone in which Spark wants timestamps back; it gives them in its own."""
    return pa.schema([field.with_type(_replaced(field.type, _utc)) for field in schema])


def in_numbers(kind: pa.DataType) -> pa.DataType:
    """A type with whole numbers for points in time, which Python cannot always show."""
    return _replaced(kind, _number)


def _utc(kind: pa.DataType) -> pa.DataType:
    zoned = pa.types.is_timestamp(kind) and kind.tz
    return pa.timestamp(kind.unit, "UTC") if zoned else kind


def _number(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return kind
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _replaced(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with other types in the place of its leaves."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_replaced(field.type, leaf)) for field in kind])
    if pa.types.is_list(kind):
        field = kind.value_field
        return pa.list_(field.with_type(_replaced(field.type, leaf)))
    return leaf(kind)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of a Spark schema."""
    return types.to_arrow_schema(schema, **_ZONE)
