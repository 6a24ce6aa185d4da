"""What rows of a numeric key took, as a curve over the key that never falls, or never rises.

A value that was never seen is then taken for its neighbours. Where the key only happens to be a
number, as that of a customer, a curve says nothing: half of the values would not foretell what the
other half took.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.cost_curve import never_falling
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.number_keys import middles_of_ranges, numbers_of
from unskew._spark.planning.work_record import RANGES, WorkRecord

MOST_POINTS = 32
"""Of a curve: it becomes an expression, which each row is put into."""
FEWEST_VALUES = 16
"""With fewer there is none that was never seen."""
OFTEN = 8
"""A value that was timed in so many parts is known by itself."""
CLEARLY = 0.5
"""A curve must miss at most this share of the work that one mean for all values misses."""

Curve = Callable[[Seconds], Seconds]


class Timed(NamedTuple):
    """Values, rising, with their rows and the seconds of all of these."""

    values: Seconds
    rows: Seconds
    seconds: Seconds
    known: NDArray[np.bool_]
    """Whether a value was timed so often that it needs no neighbours."""

    @classmethod
    def of(cls, record: WorkRecord) -> Timed:
        """Named values, and all others in the middle of their range."""
        values = np.concatenate([numbers_of(record.keys), middles_of_ranges()])
        rows = np.concatenate([record.key_rows, record.rest_rows]).astype(np.float64)
        seconds = np.concatenate([record.key_seconds, record.rest_seconds])
        often = np.concatenate([record.key_calls >= OFTEN, np.zeros(RANGES, dtype=np.bool_)])
        order = np.argsort(values, kind="stable")
        order = order[((rows > 0) & np.isfinite(values))[order]]
        return cls(values[order], rows[order], seconds[order], often[order])

    def at(self, places: slice | NDArray[np.bool_]) -> Timed:
        """Some of them."""
        values, rows, seconds, known = self
        return Timed(values[places], rows[places], seconds[places], known[places])

    @property
    def unknown(self) -> Timed:
        """Those that need their neighbours; all, if these are few."""
        rare = ~self.known
        return self.at(rare) if np.count_nonzero(rare) >= FEWEST_VALUES else self

    @property
    def mean(self) -> float:
        """Seconds of a row."""
        return float(self.seconds.sum() / max(float(self.rows.sum()), 1.0))

    def in_bins(self) -> Timed:
        """Neighbours added up: no bin has many of the rows and much of the work, or is one value.

        So there are points where most values are and where the costly ones are.
        """
        weights = self.rows / self.rows.sum() + self.seconds / max(float(self.seconds.sum()), 1e-9)
        before = np.cumsum(weights) - weights / 2
        bins = (before / weights.sum() * MOST_POINTS).astype(np.int64)
        _, bins = np.unique(bins, return_inverse=True)
        rows = np.bincount(bins, self.rows).astype(np.float64)
        seconds = np.bincount(bins, self.seconds).astype(np.float64)
        means = np.bincount(bins, self.values * self.rows) / rows
        return Timed(means, rows, seconds, np.zeros(rows.size, np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class NumberCurve:
    """Points of a curve: values, rising, and the seconds of a row; straight lines between them."""

    values: Seconds
    seconds: Seconds

    @classmethod
    def of(cls, record: WorkRecord) -> NumberCurve | None:
        """None if the record's keys are better taken each for itself."""
        timed = Timed.of(record).unknown
        if timed.values.size < FEWEST_VALUES or not timed.seconds.sum() > 0:
            return None
        halves = timed.at(np.s_[0::2]), timed.at(np.s_[1::2])
        pairs = [halves, halves[::-1]]
        missed = {
            rising: sum(_missed(cls.fitted(known, rising).at, new) for known, new in pairs)
            for rising in (True, False)
        }
        by_mean = sum(_missed(_level(known.mean), new) for known, new in pairs)
        rising = missed[True] <= missed[False]
        if not missed[rising] < CLEARLY * by_mean:
            return None
        return cls.fitted(timed, rising)

    @classmethod
    def fitted(cls, timed: Timed, rising: bool) -> NumberCurve:
        """The nearest curve that never falls, or never rises."""
        bins = timed.in_bins()
        # A named value may be the middle of a range.
        bins = bins.at(np.diff(bins.values, prepend=-np.inf) > 0)
        means = bins.seconds / bins.rows
        levels = never_falling(means, bins.rows) if rising else -never_falling(-means, bins.rows)
        return cls(bins.values, levels)

    @property
    def grows(self) -> bool:
        """Whether values above all known ones take more, in proportion."""
        return bool(self.seconds[-1] > self.seconds[0] and self.values[-1] > 0)

    def at(self, values: Seconds) -> Seconds:
        """The seconds of rows with these values."""
        found: Seconds = np.interp(values, self.values, self.seconds)
        if self.grows:
            found = found * np.maximum(values / self.values[-1], 1.0)
        return found


def _missed(curve: Curve, timed: Timed) -> float:
    """How much work is expected with the wrong values."""
    if not timed.values.size:
        return 0.0
    bins = timed.in_bins()
    return float(np.abs(curve(bins.values) * bins.rows - bins.seconds).sum())


def _level(seconds: float) -> Curve:
    return lambda values: np.full(values.size, seconds)
