"""The sum of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from unskew.aggregates.exact_values import Number, added, check_numeric
from unskew.aggregates.of_column import OfColumn


@dataclass(frozen=True, slots=True)
class Sum(OfColumn):
    """Add up a column; null where no row has a value.

    When: merges of floating-point sums agree to the last few bits, as in any parallel sum.
    Cost: one number.

    >>> Sum("x").add(None, pa.record_batch({"x": [1, None, 3]}))
    4
    """

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """Wide enough for many rows, as in Spark; a sum can be wider still."""
        check_numeric("sum", self.column, types[0])
        return sum_type(types[0])

    def zero(self) -> Number | None:
        """No rows."""
        return None

    def add(self, state: Number | None, rows: pa.RecordBatch) -> Number | None:
        """Add what is not null."""
        return self.merge(state, total(rows.column(0)))

    def merge(self, state: Number | None, other: Number | None) -> Number | None:
        """The sum of both."""
        if state is None or other is None:
            return other if state is None else state
        return added(state, other)

    def result(self, state: Number | None) -> Number | None:
        """The sum."""
        return state


def sum_type(kind: pa.DataType) -> pa.DataType:
    """The type of a sum of values of `kind`.

    >>> sum_type(pa.decimal128(12, 3))
    Decimal128Type(decimal128(22, 3))
    """
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(kind.precision + 10, 38), kind.scale)
    return pa.float64()


def total(values: pa.Array) -> Number | None:
    """The sum of the values that are not null, without overflow."""
    if pa.types.is_decimal(values.type):
        # Arrow's sums of 38 digits wrap around; these have 76.
        values = values.cast(pa.decimal256(76, values.type.scale))
    elif pa.types.is_integer(values.type):
        # Whole batches may exceed 64 bits only in Python's own numbers.
        return sum(values.drop_null().to_pylist()) if values.null_count < len(values) else None
    found: Number | None = pc.sum(values).as_py()
    return found
