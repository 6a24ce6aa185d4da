"""The smallest value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from evenkeel.aggregates.ordering import ordered


@dataclass(frozen=True, slots=True)
class Min:
    """Keep the smallest value; null where no row has one.

    NaN is larger than any number, as in Spark.

    Cost: one value.

    >>> Min("x").add(None, pa.record_batch({"x": [3, None, 1]}))
    1
    """

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The compared column."""
        return (self.column,)

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """The column's own type."""
        return types[0]

    def zero(self) -> Any:
        """No rows."""
        return None

    def add(self, state: Any, rows: pa.RecordBatch) -> Any:
        """Keep the smaller of the state and the rows."""
        values = rows.column(0).drop_null().to_pylist()
        return self.merge(state, min(values, key=ordered, default=None))

    def merge(self, state: Any, other: Any) -> Any:
        """The smaller of both."""
        if state is None or other is None:
            return other if state is None else state
        return min(state, other, key=ordered)

    def result(self, state: Any) -> Any:
        """The smallest value."""
        return state
