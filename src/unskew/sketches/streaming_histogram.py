"""A mergeable histogram of a stream of numbers, in few bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.errors import ParameterError
from unskew.kernels.histogram import add_values, join_until

Floats = NDArray[np.float64]


class StreamingHistogram:
    """Approximate how many values of a stream lie below a number.

    Each bin is a point with a mass. A new value is a bin of its own until there are too many; then
    the two closest are joined in their centre of mass. Between two points the mass is taken to
    rise in a straight line. Counts are exact where bins have not been joined, up to half of the
    mass of a point at that very point.

    Cost: O(bins) time per value, O(bins) memory; a merge takes O(bins²).
    Paper: Ben-Haim, Tom-Tov, A streaming parallel decision tree algorithm, section 2.1.

    >>> histogram = StreamingHistogram(bins=3)
    >>> histogram.add(np.array([1.0, 2.0, 8.0, 9.0, 20.0]))
    >>> histogram.points.tolist(), histogram.masses.tolist()
    ([1.5, 8.5, 20.0], [2.0, 2.0, 1.0])
    >>> histogram.below(np.array([5.0])).tolist()
    [2.0]
    """

    def __init__(self, bins: int = 64) -> None:
        if bins < 2:
            raise ParameterError(f"bins={bins} must be at least 2")
        self.bins = bins
        self._points = np.zeros(bins + 1)
        self._masses = np.zeros(bins + 1)
        self._used = 0

    @classmethod
    def of(cls, points: Floats, masses: Floats, bins: int = 64) -> StreamingHistogram:
        """The histogram of given bins, in any order; the closest are joined if too many."""
        histogram = cls(bins)
        if not (np.isfinite(points).all() and (masses > 0).all()):
            raise ParameterError("points must be finite numbers and their masses above 0")
        distinct, where = np.unique(points, return_inverse=True)
        merged = np.bincount(where, weights=masses, minlength=distinct.size).astype(np.float64)
        used = join_until(distinct, merged, bins)
        histogram._points[:used] = distinct[:used]
        histogram._masses[:used] = merged[:used]
        histogram._used = used
        return histogram

    @property
    def points(self) -> Floats:
        """The positions of the bins, in ascending order."""
        return self._points[: self._used]

    @property
    def masses(self) -> Floats:
        """How many values each bin stands for."""
        return self._masses[: self._used]

    @property
    def total(self) -> float:
        """How many values there are."""
        return float(self.masses.sum())

    def add(self, values: Floats) -> None:
        """Count every value; NaN and infinities raise an error."""
        if not np.isfinite(values).all():
            raise ParameterError("a histogram takes finite numbers; drop NaN and infinities first")
        self._used = add_values(self._points, self._masses, self._used, values)

    def merge(self, other: StreamingHistogram) -> StreamingHistogram:
        """The histogram of the values of both, in as many bins as this one may have."""
        points = np.concatenate([self.points, other.points])
        return self.of(points, np.concatenate([self.masses, other.masses]), self.bins)

    def below(self, limits: Floats) -> Floats:
        """About how many values are at most each limit: the paper's `sum`."""
        if not self._used:
            return np.zeros(limits.size)
        points, masses = self.points, self.masses
        before = np.concatenate([[0.0], np.cumsum(masses)])
        left = np.clip(np.searchsorted(points, limits, side="right") - 1, 0, self._used - 1)
        right = np.minimum(left + 1, self._used - 1)
        gap = np.where(right > left, points[right] - points[left], 1.0)
        share = np.clip((limits - points[left]) / gap, 0.0, 1.0)
        height = masses[left] + (masses[right] - masses[left]) * share
        inside = before[left] + masses[left] / 2 + (masses[left] + height) / 2 * share
        found = np.where(limits >= points[-1], self.total, inside)
        return np.where(limits < points[0], 0.0, found)

    def uniform(self, parts: int) -> Floats:
        """`parts` − 1 numbers that cut the values into parts of about the same size."""
        if parts < 1:
            raise ParameterError(f"parts={parts} must be at least 1")
        if self._used < 2:
            return np.repeat(self.points, parts - 1)
        at_points = np.cumsum(self.masses) - self.masses / 2
        wanted = np.clip(self.total * np.arange(1, parts) / parts, at_points[0], at_points[-1])
        left = np.clip(np.searchsorted(at_points, wanted, side="right") - 1, 0, self._used - 2)
        # The mass between two points rises as a quadratic in the share of the way; solve for it.
        low, high = self.masses[left], self.masses[left + 1]
        missing = wanted - at_points[left]
        root = low + np.sqrt(np.maximum(low**2 + 2 * (high - low) * missing, 0.0))
        share = np.clip(2 * missing / np.where(root > 0, root, 1.0), 0.0, 1.0)
        found: Floats = self.points[left] + share * (self.points[left + 1] - self.points[left])
        return found
