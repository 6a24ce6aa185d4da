"""One window of lossy counting over an open hash table: count, then drop what is too rare."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, compiled
from unskew.kernels.mixing import mix

Counts = NDArray[np.int64]


@compiled
def _slot(key: np.uint64, slots: KeyHashes, counts: Counts) -> np.int64:
    """Where `key` is, or the free slot (count 0) where it would be."""
    mask = np.int64(slots.size - 1)
    at = np.int64(mix(key)) & mask
    while counts[at] != 0 and slots[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def count_keys(
    keys: KeyHashes, missed: int, slots: KeyHashes, counts: Counts, missable: Counts
) -> int:
    """Count `keys`; a new one may have been `missed` so often before. How many are new."""
    new = 0
    for i in range(keys.size):
        at = _slot(keys[i], slots, counts)
        if counts[at] == 0:
            slots[at] = keys[i]
            missable[at] = missed
            new += 1
        counts[at] += 1
    return new


@compiled
def keep_frequent(
    windows: int,
    slots: KeyHashes,
    counts: Counts,
    missable: Counts,
    new_slots: KeyHashes,
    new_counts: Counts,
    new_missable: Counts,
) -> int:
    """Copy the keys that may occur more than once a window into a fresh table; how many."""
    kept = 0
    for i in range(slots.size):
        if counts[i] != 0 and counts[i] + missable[i] > windows:
            at = _slot(slots[i], new_slots, new_counts)
            new_slots[at] = slots[i]
            new_counts[at] = counts[i]
            new_missable[at] = missable[i]
            kept += 1
    return kept
