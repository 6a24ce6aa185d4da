"""XXH64 as Spark's `xxhash64` uses it: every value is hashed with the hash so far as its seed.

All kernels update `hashes` in place, value after value. `rows` says which hash each value
continues (several values may continue the same one, as the elements of an array do), and `present`
which values are not null: a null leaves the hash as it is. Without them value i is present and
continues hash i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, compiled

Rows = NDArray[np.int64] | None
Present = NDArray[np.bool_] | None

PRIME_1 = np.uint64(0x9E3779B185EBCA87)
PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
PRIME_3 = np.uint64(0x165667B19E3779F9)
PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_64 = np.uint64(64)
_LOW = np.uint64(0xFFFFFFFF)


@compiled
def rotated(word: np.uint64, bits: np.uint64) -> np.uint64:
    """`word` with its bits moved to the left, around the end."""
    return (word << bits) | (word >> (_64 - bits))


@compiled
def avalanched(word: np.uint64) -> np.uint64:
    """The last step: every input bit affects every output bit."""
    word = (word ^ (word >> np.uint64(33))) * PRIME_2
    word = (word ^ (word >> np.uint64(29))) * PRIME_3
    return word ^ (word >> np.uint64(32))


@compiled
def scrambled(word: np.uint64) -> np.uint64:
    """Eight bytes of input, ready to be folded in."""
    return rotated(word * PRIME_2, np.uint64(31)) * PRIME_1


@compiled
def fold_8(state: np.uint64, word: np.uint64) -> np.uint64:
    """Take eight bytes into the state."""
    return rotated(state ^ scrambled(word), np.uint64(27)) * PRIME_1 + PRIME_4


@compiled
def fold_4(state: np.uint64, word: np.uint64) -> np.uint64:
    """Take four bytes into the state."""
    return rotated(state ^ (word * PRIME_1), np.uint64(23)) * PRIME_2 + PRIME_3


@compiled
def hash_int(value: np.int32, seed: np.uint64) -> np.uint64:
    """The hash of four bytes."""
    return avalanched(fold_4(seed + PRIME_5 + np.uint64(4), np.uint64(value) & _LOW))


@compiled
def hash_long(value: np.int64, seed: np.uint64) -> np.uint64:
    """The hash of eight bytes."""
    return avalanched(fold_8(seed + PRIME_5 + np.uint64(8), np.uint64(value)))


@compiled
def hash_ints(values: NDArray[np.int32], present: Present, rows: Rows, hashes: KeyHashes) -> None:
    """Hash values that Spark keeps in four bytes or fewer."""
    for i in range(values.size):
        if present is None or present[i]:
            row = i if rows is None else rows[i]
            hashes[row] = hash_int(values[i], hashes[row])


@compiled
def hash_longs(values: NDArray[np.int64], present: Present, rows: Rows, hashes: KeyHashes) -> None:
    """Hash values that Spark keeps in eight bytes."""
    for i in range(values.size):
        if present is None or present[i]:
            row = i if rows is None else rows[i]
            hashes[row] = hash_long(values[i], hashes[row])


@compiled
def hash_intervals(
    micros: NDArray[np.int64],
    days: NDArray[np.int32],
    months: NDArray[np.int32],
    present: Present,
    rows: Rows,
    hashes: KeyHashes,
) -> None:
    """Hash calendar intervals, whose parts Spark takes in this order."""
    for i in range(micros.size):
        if present is None or present[i]:
            row = i if rows is None else rows[i]
            hashes[row] = hash_int(months[i], hash_int(days[i], hash_long(micros[i], hashes[row])))
