"""The columns that a function returns, as a schema or in Spark's words for one."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from unskew.errors import SchemaError

_EXAMPLE = "name columns and types, such as 'user string, n bigint'"


def struct_of(schema: object, name: str = "schema") -> StructType:
    """The schema, parsed if it is text; refused if it names no columns."""
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
