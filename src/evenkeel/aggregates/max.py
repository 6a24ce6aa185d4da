"""The largest value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from evenkeel.aggregates.ordering import ordered


@dataclass(frozen=True, slots=True)
class Max:
    """Keep the largest value; null where no row has one.

    NaN is larger than any number, as in Spark.

    Cost: one value.

    >>> Max("x").add(None, pa.record_batch({"x": [3, None, 1]}))
    3
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
        """Keep the larger of the state and the rows."""
        values = rows.column(0).drop_null().to_pylist()
        return self.merge(state, max(values, key=ordered, default=None))

    def merge(self, state: Any, other: Any) -> Any:
        """The larger of both."""
        if state is None or other is None:
            return other if state is None else state
        return max(state, other, key=ordered)

    def result(self, state: Any) -> Any:
        """The largest value."""
        return state
