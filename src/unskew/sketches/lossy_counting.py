"""Lossy counting: which keys are frequent, over a whole stream or its recent past."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.errors import ParameterError
from unskew.kernels import KeyHashes
from unskew.kernels.lossy import count_keys, keep_frequent
from unskew.sketches.key_counts import KeyCounts


class _Table(NamedTuple):
    slots: KeyHashes
    counts: NDArray[np.int64]
    missable: NDArray[np.int64]

    @classmethod
    def empty(cls, entries: int) -> _Table:
        size = 1 << max(4, (2 * entries).bit_length())
        return cls(
            np.zeros(size, dtype=np.uint64),
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.int64),
        )


class LossyCounting:
    """Estimate how often the frequent keys of a stream occur.

    The stream is cut into windows of 1/epsilon rows; at the end of each, keys that occur less
    than once a window are dropped. Every key that makes up at least epsilon of the rows is there,
    and no estimate is too low by more than epsilon of the rows; none is too high.

    Cost: O(1) amortised time per row, O(1/epsilon * log(epsilon * rows)) memory.
    Paper: Manku, Motwani, Approximate frequency counts over data streams; Gedik, partitioning
        functions, section 4.1.2.

    >>> sketch = LossyCounting(epsilon=0.25)
    >>> sketch.add(np.array([1, 1, 1, 2, 1, 1, 3, 4], dtype=np.uint64))
    >>> sketch.frequent(0.5)
    KeyCounts(keys=array([1], dtype=uint64), counts=array([5]))
    """

    def __init__(self, epsilon: float) -> None:
        if not 0 < epsilon <= 1:
            raise ParameterError(f"epsilon={epsilon} is not in (0, 1]; a tenth of delta is usual")
        self.epsilon = epsilon
        self.width = math.ceil(1 / epsilon)
        self.rows = 0
        self.entries = 0
        self._table = _Table.empty(self.width)

    def add(self, keys: KeyHashes) -> None:
        """Count every key."""
        done = 0
        while done < keys.size:
            window, used = divmod(self.rows, self.width)
            part = keys[done : done + self.width - used]
            self.entries += count_keys(part, window, *self._table)
            self.rows += part.size
            done += part.size
            if self.rows % self.width == 0:
                self._close_window(window + 1)

    def _close_window(self, windows: int) -> None:
        fresh = _Table.empty(self.entries + self.width)
        self.entries = keep_frequent(windows, *self._table, *fresh)
        self._table = fresh

    def frequent(self, delta: float = 0.0) -> KeyCounts:
        """Every key that makes up `delta` of the rows, and perhaps some of delta − epsilon."""
        least = (delta - self.epsilon) * self.rows
        found = (self._table.counts > 0) & (self._table.counts >= least)
        return KeyCounts(self._table.slots[found], self._table.counts[found])


class SlidingLossyCounting:
    """Lossy counting over the last `window` rows, or a few more.

    `counters` sketches start one after the other and live equally long; the oldest answers. Once
    `window` rows have come, the answer always covers the last `window` to
    (1 + 1/(counters − 1)) * `window` rows, so more counters come closer to a true sliding window.

    Cost: O(counters) amortised time per row, `counters` sketches of memory.
    Paper: Gedik, partitioning functions, section 4.1.2 and figure 2 (three counters).

    >>> sketch = SlidingLossyCounting(epsilon=0.01, window=100)
    >>> sketch.add(np.repeat(np.array([1, 2], dtype=np.uint64), [1000, 150]))
    >>> sketch.frequent(0.5)
    KeyCounts(keys=array([2], dtype=uint64), counts=array([100]))
    """

    def __init__(self, epsilon: float, window: int, counters: int = 3) -> None:
        if counters < 2:
            raise ParameterError(
                f"counters={counters} must be at least 2: one answers while the next fills"
            )
        if window < counters - 1:
            raise ParameterError(
                f"window={window} must be at least counters - 1 = {counters - 1} rows"
            )
        self.window = window
        self.step = math.ceil(window / (counters - 1))
        self._counters = [LossyCounting(epsilon)]
        self._most = counters

    @property
    def rows(self) -> int:
        """How many rows the answer covers."""
        return self._counters[0].rows

    @property
    def entries(self) -> int:
        """How many keys all counters together hold."""
        return sum(counter.entries for counter in self._counters)

    def add(self, keys: KeyHashes) -> None:
        """Count every key, and start and drop counters on the way."""
        done = 0
        while done < keys.size:
            newest = self._counters[-1]
            part = keys[done : done + self.step - newest.rows % self.step]
            for counter in self._counters:
                counter.add(part)
            done += part.size
            if newest.rows % self.step == 0:
                self._counters.append(LossyCounting(newest.epsilon))
                if len(self._counters) > 1 and self._counters[1].rows >= self.window:
                    del self._counters[0]

    def frequent(self, delta: float = 0.0) -> KeyCounts:
        """Every recent key that makes up `delta` of the rows covered."""
        return self._counters[0].frequent(delta)
