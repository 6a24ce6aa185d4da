"""The mean of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

from unskew.aggregates.exact_values import Number, added, check_numeric, quotient
from unskew.aggregates.of_column import OfColumn
from unskew.aggregates.sum import total


@dataclass(frozen=True, slots=True)
class Mean(OfColumn):
    """Average a column, in double precision; null where no row has a value.

    The mean of decimals is a decimal with four more digits, rounded as in Spark.

    Cost: two numbers.

    >>> mean = Mean("x")
    >>> mean.result(mean.add(mean.zero(), pa.record_batch({"x": [1, None, 2]})))
    1.5
    """

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """Double precision, or a decimal."""
        kind = types[0]
        check_numeric("mean", self.column, kind)
        if pa.types.is_decimal(kind):
            return pa.decimal128(min(kind.precision + 4, 38), min(kind.scale + 4, 38))
        return pa.float64()

    def zero(self) -> tuple[Number, int]:
        """No rows."""
        return 0, 0

    def add(self, state: tuple[Number, int], rows: pa.RecordBatch) -> tuple[Number, int]:
        """Add what is not null to the sum and the count."""
        values = rows.column(0)
        if not pa.types.is_decimal(values.type):
            values = values.cast(pa.float64(), safe=False)
        count = len(values) - values.null_count
        found = total(values)
        return state if found is None else self.merge(state, (found, count))

    def merge(self, state: tuple[Number, int], other: tuple[Number, int]) -> tuple[Number, int]:
        """The sums and the counts of both."""
        return added(state[0], other[0]), state[1] + other[1]

    def result(self, state: tuple[Number, int]) -> Number | None:
        """The sum over the count."""
        if not state[1]:
            return None
        if isinstance(state[0], Decimal):
            return quotient(state[0], state[1])
        return state[0] / state[1]
