"""The weights of equal ranges of hashes: a sketch of the keys that are not heavy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Weights = NDArray[np.float64]


def in_ranges(loads: Weights, ranges: int) -> Weights:
    """What equal ranges of hashes bring, for another number of ranges; each is evenly filled.

    >>> in_ranges(np.array([4.0, 2.0]), 4).tolist(), in_ranges(np.array([4.0, 2.0]), 1).tolist()
    ([2.0, 2.0, 1.0, 1.0], [6.0])
    """
    below = np.concatenate([[0.0], np.cumsum(loads)])
    edges = np.arange(ranges + 1) * (loads.size / ranges)
    # Rounding may leave a difference of equal sums just below nothing.
    within: Weights = np.maximum(np.diff(np.interp(edges, np.arange(below.size), below)), 0.0)
    return within
