"""An open-addressing map from 64-bit keys to non-negative int32 values, -1 marking a free slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, compiled
from unskew.kernels.mixing import mix

FREE = np.int32(-1)


@compiled
def slot_of(slots: KeyHashes, values: NDArray[np.int32], key: np.uint64) -> np.int64:
    """The slot that holds `key`, or the free one where it belongs. Some slot must be free."""
    mask = np.uint64(slots.size - 1)
    slot = np.int64(mix(key) & mask)
    while values[slot] != FREE and slots[slot] != key:
        slot += 1
        if slot == slots.size:
            slot = np.int64(0)
    return slot


@compiled
def insert_all(
    slots: KeyHashes, values: NDArray[np.int32], keys: KeyHashes, new: NDArray[np.int32]
) -> int:
    """Set every key to its value; return how many keys were not there before."""
    added = 0
    for i in range(keys.size):
        slot = slot_of(slots, values, keys[i])
        if values[slot] == FREE:
            slots[slot] = keys[i]
            added += 1
        values[slot] = new[i]
    return added


@compiled
def look_up(
    slots: KeyHashes, values: NDArray[np.int32], keys: KeyHashes, out: NDArray[np.int32]
) -> None:
    """Write every key's value, leaving `out` as it is for unknown keys."""
    for i in range(keys.size):
        value = values[slot_of(slots, values, keys[i])]
        if value != FREE:
            out[i] = value


@compiled
def add_pairs(
    slots: KeyHashes, values: NDArray[np.int32], keys: KeyHashes, workers: NDArray[np.int32]
) -> int:
    """Add the fingerprint of every (key, worker) pair; return how many were not there before.

    Two pairs share a 64-bit fingerprint with a chance of about pairs**2 / 2**65.
    """
    added = 0
    for i in range(keys.size):
        pair = mix(keys[i] ^ mix(np.uint64(workers[i]) + np.uint64(1)))
        slot = slot_of(slots, values, pair)
        if values[slot] == FREE:
            slots[slot] = pair
            values[slot] = 0
            added += 1
    return added
