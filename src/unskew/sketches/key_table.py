"""Exact memory of keys and of (key, worker) pairs: O(keys), not O(workers)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, WorkerIds
from unskew.kernels.table import FREE, add_pairs, insert_all, look_up

_SMALLEST = 1024
_CHUNK = 1 << 16


class KeyTable:
    """A growing map from key hash to a small number, laid out as two arrays for the kernels.

    Cost: O(1) per key; 12 bytes a slot, at most half of the slots in use.

    >>> table = KeyTable()
    >>> table.insert(np.array([3, 5], dtype=np.uint64), np.array([1, 0], dtype=np.int32))
    >>> table.get(np.array([5, 4], dtype=np.uint64), default=np.array([7, 7], dtype=np.int32))
    array([0, 7], dtype=int32)
    """

    def __init__(self) -> None:
        self.size = 0
        self.slots: KeyHashes = np.zeros(_SMALLEST, dtype=np.uint64)
        self.values: NDArray[np.int32] = np.full(_SMALLEST, FREE, dtype=np.int32)

    def reserve(self, extra: int) -> None:
        """Make room for `extra` more keys, so that a kernel can insert them."""
        capacity = self.slots.size
        while 2 * (self.size + extra) > capacity:
            capacity *= 2
        if capacity == self.slots.size:
            return
        used = self.values != FREE
        keys, values = self.slots[used], self.values[used]
        self.slots = np.zeros(capacity, dtype=np.uint64)
        self.values = np.full(capacity, FREE, dtype=np.int32)
        insert_all(self.slots, self.values, keys, values)

    def parts(self, keys: KeyHashes) -> Iterator[slice]:
        """Cut `keys` into parts, with room for each part's keys while it is worked on."""
        for start in range(0, keys.size, _CHUNK):
            self.reserve(min(_CHUNK, keys.size - start))
            yield slice(start, start + _CHUNK)

    def insert(self, keys: KeyHashes, values: NDArray[np.int32]) -> None:
        """Set every key to its value, which must not be negative."""
        self.reserve(keys.size)
        self.size += insert_all(self.slots, self.values, keys, values)

    def get(self, keys: KeyHashes, default: NDArray[np.int32]) -> NDArray[np.int32]:
        """Every key's value, or its entry of `default` for an unknown key."""
        out = default.copy()
        look_up(self.slots, self.values, keys, out)
        return out


class PairSet:
    """Counts the distinct (key, worker) pairs of a stream: the replicas that a scheme makes.

    >>> pairs = PairSet()
    >>> pairs.add(np.array([9, 9, 9], dtype=np.uint64), np.array([0, 1, 0], dtype=np.int32))
    >>> pairs.size
    2
    """

    def __init__(self) -> None:
        self._table = KeyTable()

    @property
    def size(self) -> int:
        """How many different pairs have been added."""
        return self._table.size

    def add(self, keys: KeyHashes, workers: WorkerIds) -> None:
        """Add the pairs (keys[i], workers[i])."""
        table = self._table
        for part in table.parts(keys):
            table.size += add_pairs(table.slots, table.values, keys[part], workers[part])
