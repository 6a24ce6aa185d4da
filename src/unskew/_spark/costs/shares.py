"""The seconds of parts of batches, shared out over the rows of each part by what tells of these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.cost_curve import never_falling
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.number_keys import neighbours
from unskew._spark.planning.work_record import Hashes, Whole

Marks = Literal["cost", "key", "number"]
"""What tells of rows: their cost, the hash of their key, or a key that is a number."""

_ROUNDS = 100
_STEPS = 4_000_000  # Of all rounds together: a tenth of a second.
_FITS = 0.05
_SLICES = 64  # Of the rows by the number that is their key: rows of a slice take about the same.
_CLEARLY = 0.75  # A curve misses so little of what one cost for all rows misses.


class TimedPart(NamedTuple):
    """The rows of a part by key, and its seconds."""

    keys: Hashes
    rows: Whole
    seconds: float


def shared_out(parts: list[TimedPart], marks: Marks = "key") -> list[Seconds]:
    """The seconds of the keys of each part, so that a key takes about the same in all of them.

    Small parts count as much as large ones, which tell little. Where parts do not tell, rows take
    more the costlier they are, or about as much as those whose key is the next number.

    >>> parts = [TimedPart(np.array([1, 2]), np.array([1, 1]), 3.0),
    ...          TimedPart(np.array([2]), np.array([2]), 2.0)]
    >>> [each.round(0).tolist() for each in shared_out(parts)]
    [[2.0, 1.0], [2.0]]
    """
    keys, places = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
    shares = _Shares.of(parts, places, keys.size)
    each = np.ones(keys.size)
    if marks == "cost":
        each += _relative(keys, shares.sizes)
    if marks == "number":
        each = _by_value(keys, shares)
    seconds = shares.seconds(shares.fitted(each))
    return np.split(seconds, np.cumsum([part.keys.size for part in parts])[:-1])


class _Shares(NamedTuple):
    """The rows of all parts by key, one part after the other."""

    places: NDArray[np.int64]
    """The key of each."""
    owner: NDArray[np.int64]
    """The part of each."""
    rows: Seconds
    spent: Seconds
    """The seconds of each part."""
    keys: int

    @classmethod
    def of(cls, parts: list[TimedPart], places: NDArray[np.int64], keys: int) -> _Shares:
        """All parts."""
        rows = np.concatenate([part.rows for part in parts]).astype(np.float64)
        owner = np.repeat(np.arange(len(parts)), [part.keys.size for part in parts])
        return cls(places, owner, rows, np.array([part.seconds for part in parts]), keys)

    def in_groups(self, groups: NDArray[np.int64], most: int) -> _Shares:
        """The same by group: `groups` has that of each key."""
        cells, places = np.unique(self.owner * most + groups[self.places], return_inverse=True)
        rows = np.bincount(places, self.rows).astype(np.float64)
        return _Shares(cells % most, cells // most, rows, self.spent, most)

    @property
    def sizes(self) -> Seconds:
        """The rows of each key."""
        return np.bincount(self.places, self.rows, self.keys).astype(np.float64)

    def seconds(self, each: Seconds) -> Seconds:
        """What rows take, by what rows of a key take and so that parts take what they took."""
        expected = each[self.places] * self.rows
        seconds: Seconds = expected * self._ratios(expected)[self.owner]
        return seconds

    def missed(self, each: Seconds) -> float:
        """How much of the work would be in other parts by what rows of a key take."""
        sums = np.bincount(self.owner, each[self.places] * self.rows, self.spent.size)
        spent = self.spent / max(float(self.spent.sum()), 1e-300)
        return float(np.abs(sums / max(float(sums.sum()), 1e-300) - spent).sum())

    def fitted(self, each: Seconds, level: Callable[[Seconds], Seconds] | None = None) -> Seconds:
        """What rows of each key take, from a first guess; `level` mends what a round has found."""
        weights = 1 / np.bincount(self.owner, self.rows, self.spent.size)[self.owner]
        counts = np.bincount(self.places, self.rows * weights, self.keys)
        for _ in range(int(np.clip(_STEPS / self.rows.size, 8, _ROUNDS))):
            expected = each[self.places] * self.rows
            ratios = self._ratios(expected)
            if np.abs(ratios - 1).max() < _FITS:
                break
            seconds = expected * ratios[self.owner] * weights
            each = np.bincount(self.places, seconds, self.keys) / counts
            each = each if level is None else level(each)
        return each

    def _ratios(self, expected: Seconds) -> Seconds:
        sums = np.bincount(self.owner, expected, self.spent.size)
        ratios: Seconds = self.spent / np.maximum(sums, 1e-300)
        return ratios


def _by_value(keys: Hashes, shares: _Shares) -> Seconds:
    """A first guess of what rows take whose keys are these numbers, rising.

    Rows take more the higher the number, or the lower, if that explains the parts clearly better
    than rows that are all alike; and those with the next numbers take about as much.
    """
    groups = neighbours(keys, shares.sizes, _SLICES)
    shares = shares.in_groups(groups, int(groups[-1]) + 1)
    alike, sizes = np.ones(shares.keys), shares.sizes
    curves = [shares.fitted(alike, partial(_monotone, sign, sizes)) for sign in (1.0, -1.0)]
    best = min(curves, key=shares.missed)
    clearly = shares.missed(best) < _CLEARLY * shares.missed(alike)
    return shares.fitted(best if clearly else alike)[groups]


def _monotone(sign: float, sizes: Seconds, each: Seconds) -> Seconds:
    return sign * never_falling(sign * each, sizes)


def _relative(keys: Hashes, rows: NDArray[Any]) -> Seconds:
    """The costs that are the keys, so that they are 1 in the mean of all rows."""
    costs: Seconds = np.minimum(keys.view(np.float64), 1e290)
    return costs / max(float(np.average(costs, weights=rows)), 1e-290)
