"""The mean of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from unskew.aggregates.of_column import OfColumn


@dataclass(frozen=True, slots=True)
class Mean(OfColumn):
    """Average a column, in double precision; null where no row has a value.

    Cost: two numbers.

    >>> mean = Mean("x")
    >>> mean.result(mean.add(mean.zero(), pa.record_batch({"x": [1, None, 2]})))
    1.5
    """

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """Double precision."""
        return pa.float64()

    def zero(self) -> tuple[float, int]:
        """No rows."""
        return 0.0, 0

    def add(self, state: tuple[float, int], rows: pa.RecordBatch) -> tuple[float, int]:
        """Add what is not null to the sum and the count."""
        values = rows.column(0)
        total = pc.sum(values.cast(pa.float64(), safe=False)).as_py() or 0.0
        return self.merge(state, (total, len(values) - values.null_count))

    def merge(self, state: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
        """The sums and the counts of both."""
        return state[0] + other[0], state[1] + other[1]

    def result(self, state: tuple[float, int]) -> float | None:
        """The sum over the count."""
        return state[0] / state[1] if state[1] else None
