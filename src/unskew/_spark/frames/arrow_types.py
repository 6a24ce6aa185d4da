"""Spark's types as Arrow's, whatever this Spark wants to be told about time zones."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas import types
from pyspark.sql.types import DataType, StructType

# Arrow's timestamps carry the zone that they are shown in; the instant is the same in all.
_ZONE: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in inspect.signature(types.to_arrow_type).parameters else {}
)


def arrow_type(kind: DataType) -> pa.DataType:
    """The Arrow type of a Spark type."""
    return types.to_arrow_type(kind, **_ZONE)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of a Spark schema."""
    return types.to_arrow_schema(schema, **_ZONE)
