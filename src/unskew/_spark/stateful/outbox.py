"""The rows that a processor hands out, in whatever form, as one Arrow array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from unskew.errors import SchemaError


class Outbox:
    """Collects rows of one schema."""

    def __init__(self, kind: pa.StructType) -> None:
        self.kind = kind
        self.schema = pa.schema(list(kind))
        self.tables: list[pa.Table] = []
        self.mappings: list[Mapping[str, Any]] = []

    def add(self, rows: Any) -> None:
        """Take an Arrow table or batch, a pandas frame, a list of mappings, or None."""
        if rows is None:
            return
        if isinstance(rows, list | tuple):
            for row in rows:
                check_names(row, self.schema.names, "a row of the output")
            self.mappings.extend(rows)
            return
        if isinstance(rows, pd.DataFrame):
            check_names(rows.columns, self.schema.names, "the output")
            rows = pa.Table.from_pandas(rows, schema=self.schema, preserve_index=False)
        elif isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        elif not isinstance(rows, pa.Table):
            raise SchemaError(
                f"a processor returned rows as {type(rows).__name__}; return an Arrow table, a "
                "pandas frame, a list of mappings or None"
            )
        check_names(rows.schema.names, self.schema.names, "the output")
        self.tables.append(rows.select(self.schema.names).cast(self.schema))

    def array(self) -> pa.Array:
        """All rows so far."""
        if self.mappings:
            self.tables.append(pa.Table.from_pylist(self.mappings, schema=self.schema))
            self.mappings = []
        if not self.tables:
            return pa.array([], self.kind)
        table = pa.concat_tables(self.tables).combine_chunks()
        columns = [_whole(column) for column in table.columns]
        return pa.StructArray.from_arrays(columns, fields=list(self.kind))


def check_names(found: Mapping[str, Any] | Sequence[str], wanted: Sequence[str], what: str) -> None:
    """Refuse other fields than the schema's."""
    if set(found) != set(wanted):
        raise SchemaError(
            f"{what} has the fields {', '.join(map(str, found))}; "
            f"the schema has {', '.join(wanted)}"
        )


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
