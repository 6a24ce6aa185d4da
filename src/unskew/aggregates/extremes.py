"""The smallest and the largest value of a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from unskew.aggregates.exact_values import check_plain, result_of, values_of
from unskew.aggregates.of_column import OfColumn
from unskew.aggregates.ordering import ordered


@dataclass(frozen=True, slots=True)
class _Extreme(OfColumn):
    """Base of Min and Max: keep the best value; null where no row has one."""

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """The column's own type."""
        check_plain(type(self).__name__.lower(), self.column, types[0])
        return types[0]

    def zero(self) -> Any:
        """No rows."""
        return None

    def add(self, state: Any, rows: pa.RecordBatch) -> Any:
        """Keep the best of the state and the rows."""
        return self.merge(state, self._best(values_of(rows.column(0).drop_null())))

    def merge(self, state: Any, other: Any) -> Any:
        """The better of both."""
        return self._best(value for value in (state, other) if value is not None)

    def result(self, state: Any) -> Any:
        """The best value."""
        return result_of(state)

    def _best(self, values: Iterable[Any]) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Min(_Extreme):
    """Keep the smallest value; null where no row has one.

    NaN is larger than any number, as in Spark.

    Cost: one value.

    >>> Min("x").add(None, pa.record_batch({"x": [3, None, 1]}))
    1
    """

    def _best(self, values: Iterable[Any]) -> Any:
        return min(values, key=ordered, default=None)


@dataclass(frozen=True, slots=True)
class Max(_Extreme):
    """Keep the largest value; null where no row has one.

    NaN is larger than any number, as in Spark.

    Cost: one value.

    >>> Max("x").add(None, pa.record_batch({"x": [3, None, 1]}))
    3
    """

    def _best(self, values: Iterable[Any]) -> Any:
        return max(values, key=ordered, default=None)
