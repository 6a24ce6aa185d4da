"""SpaceSaving: which keys are frequent, in a bounded number of counters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_whole
from unskew.errors import ParameterError
from unskew.kernels import KeyHashes
from unskew.kernels.space_saving import ROWS, USED, empty_summary, observe_all


class FrequentKeys(NamedTuple):
    """Keys by falling estimate. The true count lies in counts - errors .. counts."""

    keys: KeyHashes
    counts: NDArray[np.int64]
    errors: NDArray[np.int64]


class SpaceSaving:
    """Estimate how often the frequent keys of a stream occur.

    Every key that makes up more than 1/capacity of the stream is in the summary, and no estimate
    is too high by more than rows/capacity.

    Cost: O(1) amortised time per row, O(capacity) memory.
    Paper: Metwally, Agrawal, El Abbadi, Efficient computation of frequent and top-k elements.

    >>> sketch = SpaceSaving(capacity=2)
    >>> sketch.add(np.array([1, 1, 1, 2, 3], dtype=np.uint64))
    >>> sketch.frequent()
    FrequentKeys(keys=array([1, 3], dtype=uint64), counts=array([3, 2]), errors=array([0, 1]))
    """

    def __init__(self, capacity: int) -> None:
        check_whole("capacity", capacity)
        if not 1 <= capacity < 2**29:
            raise ParameterError(f"capacity={capacity} is not in 1..{2**29 - 1} counters")
        self.summary = empty_summary(capacity)

    @property
    def rows(self) -> int:
        """How many rows have been counted."""
        return int(self.summary.totals[ROWS])

    def add(self, keys: KeyHashes) -> None:
        """Count every key."""
        observe_all(self.summary, keys)

    def frequent(self, least: float = 0.0) -> FrequentKeys:
        """The keys whose estimate is at least `least` rows."""
        keys, counts, errors = self.summary[:3]
        chosen = np.flatnonzero(counts[: self.summary.totals[USED]] >= least)
        chosen = chosen[np.lexsort((keys[chosen], -counts[chosen]))]
        return FrequentKeys(keys[chosen], counts[chosen], errors[chosen])
