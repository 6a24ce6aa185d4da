"""Partial results by a user's function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from unskew._spark.frames.arrow_types import arrow_schema
from unskew._spark.frames.schemas import struct_of
from unskew._spark.streaming.partials import Folded, Partials
from unskew.errors import ParameterError, SchemaError

Function = Callable[[pa.Table], pa.Table]


def check_parts(
    rows: DataFrame,
    key: Sequence[str],
    function: Function,
    schema: StructType | str,
    merge: Sequence[Column],
) -> StructType:
    """The parsed schema; refuse what would not run."""
    if len(inspect.signature(function).parameters) != 1:
        raise ParameterError("the function of a partial result takes one argument, a pyarrow Table")
    if not merge or not all(isinstance(each, Column) for each in merge):
        raise ParameterError(
            "merge must be Spark's aggregates of the schema's columns, as in "
            "[F.sum('n').alias('n')]; for a merge in Python write an Aggregate and use agg"
        )
    struct = struct_of(schema)
    clash = sorted(set(struct.names) & set(key))
    if clash:
        raise SchemaError(f"the schema names {', '.join(clash)}, which the key brings along")
    return struct


def costly_partials(
    rows: DataFrame, key: Sequence[str], function: Function, schema: StructType
) -> Partials:
    """How the function makes partial results."""
    wanted = arrow_schema(schema)

    def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
        made = [_checked(function(pa.Table.from_batches([group])), wanted) for group in groups]
        columns = [
            pa.concat_arrays([chunk for part in made for chunk in part.column(place).chunks])
            for place in range(len(wanted))
        ]
        return Folded(columns, [part.num_rows for part in made])

    inputs = tuple(name for name in rows.columns if name not in key)
    return Partials(inputs or (key[0],), fold, schema)


def _checked(part: pa.Table, wanted: pa.Schema) -> pa.Table:
    if not isinstance(part, pa.Table):
        raise SchemaError(f"the function returned {type(part).__name__}; give a pyarrow Table")
    if set(part.column_names) != set(wanted.names) or part.num_columns != len(wanted):
        raise SchemaError(
            f"the function returned the columns {', '.join(part.column_names)}; "
            f"the schema has {', '.join(wanted.names)}"
        )
    typed = part.select(wanted.names).cast(wanted)
    # A table without rows may have no chunks, and nothing to concatenate.
    return typed if typed.num_rows else wanted.empty_table().combine_chunks()
