"""The number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from unskew.checking import check_fields


@dataclass(frozen=True, slots=True)
class Count:
    """Count the rows, or those whose `column` is not null.

    Cost: one number.

    >>> Count("x").add(0, pa.record_batch({"x": [1, None, 3]}))
    2
    """

    column: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def columns(self) -> tuple[str, ...]:
        """The counted column, if one is named."""
        return () if self.column is None else (self.column,)

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A whole number, never null."""
        return pa.int64()

    def zero(self) -> int:
        """No rows."""
        return 0

    def add(self, state: int, rows: pa.RecordBatch) -> int:
        """Count what is not null."""
        nulls = 0 if self.column is None else rows.column(0).null_count
        return state + int(rows.num_rows) - int(nulls)

    def merge(self, state: int, other: int) -> int:
        """The sum of both."""
        return state + other

    def result(self, state: int) -> int:
        """The count."""
        return state
