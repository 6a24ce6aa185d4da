"""Quantiles of a numeric column, by a DDSketch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unskew.aggregates.exact_values import check_numeric
from unskew.aggregates.of_column import OfColumn
from unskew.checking import check_number
from unskew.errors import ParameterError

_INFINITE, _NAN = 1 << 40, 1 << 41  # Bins beyond those of any number.
_SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class Quantiles(OfColumn):
    """Estimate the quantiles `at` (fractions of the rows), nulls not counted.

    Values are counted in bins whose bounds grow by a constant factor, so an answer is wrong by
    at most `error` of itself. Merging is exact: however the rows are split, the answer is the
    same. NaN is above every number, as in Spark.

    Cost: O(1) time per row; a bin for each factor 1 + 2 error between the smallest and the
        largest value, some 700 from 1 to a million as given.
    Paper: Masson, Rim, Lee, DDSketch: a fast and fully-mergeable quantile sketch.

    >>> quantiles = Quantiles("x", at=(0.0, 0.5))
    >>> state = quantiles.add(quantiles.zero(), pa.record_batch({"x": [0.0, 0.0, 5.0]}))
    >>> quantiles.result(state)
    [0.0, 0.0]
    """

    at: tuple[float, ...] = (0.5,)
    error: float = 0.01

    def __post_init__(self) -> None:
        OfColumn.__post_init__(self)
        object.__setattr__(self, "at", tuple(self.at))
        for share in self.at:
            check_number("at", share)
        if not self.at or not all(0 <= share <= 1 for share in self.at):
            raise ParameterError(f"at={self.at} must be shares in 0..1, at least one")
        if not 0 < self.error < 1:
            raise ParameterError(f"error={self.error} is not between 0 and 1")

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A list with an estimate for each share."""
        check_numeric("quantiles", self.column, types[0])
        return pa.list_(pa.float64())

    def zero(self) -> Counter[int]:
        """No rows."""
        return Counter()

    def add(self, state: Counter[int], rows: pa.RecordBatch) -> Counter[int]:
        """Count the rows of each bin; bin 0 is for zero, negative ones for negative values."""
        values = rows.column(0).drop_null().cast(pa.float64(), safe=False).to_numpy()
        sizes = np.abs(values)
        ordinary = np.isfinite(values) & (sizes >= _SMALLEST)
        bins = np.zeros(values.size, dtype=np.int64)
        steps = np.ceil((np.log(sizes[ordinary]) - math.log(_SMALLEST)) / self._step)
        bins[ordinary] = steps.astype(np.int64) + 1
        bins[np.isinf(values)] = _INFINITE
        bins = np.where(values < 0, -bins, bins)
        bins[np.isnan(values)] = _NAN
        found, counts = np.unique(bins, return_counts=True)
        state.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))
        return state

    def merge(self, state: Counter[int], other: Counter[int]) -> Counter[int]:
        """The rows of each bin in both."""
        return state + other

    def result(self, state: Counter[int]) -> list[float] | None:
        """The value in the middle of the bin that holds each share; null where there is none."""
        if not state:
            return None
        bins = sorted(state)
        ends = np.cumsum([state[each] for each in bins])
        ranks = [share * (ends[-1] - 1) for share in self.at]
        found = np.searchsorted(ends, ranks, side="right")
        return [self._value(bins[place]) for place in found]

    @property
    def _step(self) -> float:
        return math.log((1 + self.error) / (1 - self.error))

    def _value(self, place: int) -> float:
        if place == _NAN:
            return math.nan
        if place == 0 or abs(place) == _INFINITE:
            return math.copysign(math.inf, place) if place else 0.0
        upper = math.exp(math.log(_SMALLEST) + (abs(place) - 1) * self._step)
        return math.copysign(upper * (1 - self.error), place)
