"""Histograms of few bins over a stream: every value becomes a bin, the closest two are joined."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import compiled

Floats = NDArray[np.float64]


@compiled
def join_closest(points: Floats, masses: Floats, used: int) -> int:
    """Join the two neighbours with the least distance, the first of equal ones; one bin less."""
    at = 0
    for i in range(1, used - 1):
        if points[i + 1] - points[i] < points[at + 1] - points[at]:
            at = i
    mass = masses[at] + masses[at + 1]
    points[at] += (points[at + 1] - points[at]) * (masses[at + 1] / mass)
    masses[at] = mass
    for i in range(at + 1, used - 1):
        points[i] = points[i + 1]
        masses[i] = masses[i + 1]
    return used - 1


@compiled
def add_values(points: Floats, masses: Floats, used: int, values: Floats) -> int:
    """Count every value in bins that have room for one more than they may keep; give their number.

    `points` are sorted. The room of the arrays is one bin more than the histogram has.
    """
    for value in values:
        at = np.searchsorted(points[:used], value)
        if at < used and points[at] == value:
            masses[at] += 1.0
            continue
        for i in range(used, at, -1):
            points[i] = points[i - 1]
            masses[i] = masses[i - 1]
        points[at] = value
        masses[at] = 1.0
        used += 1
        if used == points.size:
            used = join_closest(points, masses, used)
    return used


@compiled
def join_until(points: Floats, masses: Floats, bins: int) -> int:
    """Join neighbours until at most `bins` are left, and give their number."""
    used = points.size
    while used > bins:
        used = join_closest(points, masses, used)
    return used
