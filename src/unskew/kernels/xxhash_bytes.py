"""XXH64 of byte strings and of large decimals, which Spark hashes as bytes.

`hashes`, `rows` and `present` mean what they mean in `xxhash`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, compiled
from unskew.kernels.xxhash import (
    PRIME_1,
    PRIME_2,
    PRIME_4,
    PRIME_5,
    Present,
    Rows,
    avalanched,
    fold_4,
    fold_8,
    rotated,
    scrambled,
)

Bytes = NDArray[np.uint8]

_1 = np.uint64(1)
_4 = np.uint64(4)
_8 = np.uint64(8)
_32 = np.uint64(32)


@compiled
def word_4(data: Bytes, at: np.uint64) -> np.uint64:
    """Four bytes as a little-endian word. (LLVM makes one load of it.)"""
    word = np.uint64(0)
    for i in range(4):
        word |= np.uint64(data[at + np.uint64(i)]) << np.uint64(8 * i)
    return word


@compiled
def word_8(data: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes as a little-endian word."""
    return word_4(data, at) | (word_4(data, at + _4) << _32)


@compiled
def lane(state: np.uint64, word: np.uint64) -> np.uint64:
    """Take a word into one of the four lanes of a long input."""
    return rotated(state + word * PRIME_2, np.uint64(31)) * PRIME_1


@compiled
def merged(state: np.uint64, of_lane: np.uint64) -> np.uint64:
    """Take a finished lane into the state."""
    return (state ^ scrambled(of_lane)) * PRIME_1 + PRIME_4


@compiled
def hash_blocks(data: Bytes, at: np.uint64, blocks: np.uint64, seed: np.uint64) -> np.uint64:
    """The state after `blocks` whole blocks of 32 bytes, four lanes side by side."""
    a, b, c, d = seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1
    for _ in range(blocks):
        a = lane(a, word_8(data, at))
        b = lane(b, word_8(data, at + _8))
        c = lane(c, word_8(data, at + np.uint64(16)))
        d = lane(d, word_8(data, at + np.uint64(24)))
        at += _32
    state = rotated(a, np.uint64(1)) + rotated(b, np.uint64(7))
    state += rotated(c, np.uint64(12)) + rotated(d, np.uint64(18))
    return merged(merged(merged(merged(state, a), b), c), d)


@compiled
def hash_span(data: Bytes, start: np.uint64, stop: np.uint64, seed: np.uint64) -> np.uint64:
    """The hash of data[start:stop]."""
    length = stop - start
    at = start
    if length >= _32:
        blocks = length // _32
        state = hash_blocks(data, at, blocks, seed)
        at += blocks * _32
    else:
        state = seed + PRIME_5
    state += length
    while at + _8 <= stop:
        state = fold_8(state, word_8(data, at))
        at += _8
    if at + _4 <= stop:
        state = fold_4(state, word_4(data, at))
        at += _4
    while at < stop:
        state = rotated(state ^ (np.uint64(data[at]) * PRIME_5), np.uint64(11)) * PRIME_1
        at += _1
    return avalanched(state)


@compiled
def hash_strings(
    offsets: NDArray[np.int64], data: Bytes, present: Present, rows: Rows, hashes: KeyHashes
) -> None:
    """Hash byte strings that lie end to end: string i is data[offsets[i]:offsets[i + 1]]."""
    for i in range(offsets.size - 1):
        if present is None or present[i]:
            row = i if rows is None else rows[i]
            start, stop = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
            hashes[row] = hash_span(data, start, stop, hashes[row])


@compiled
def big_endian(low: np.uint64, high: np.uint64, out: Bytes) -> int:
    """Write a 128-bit integer, the highest byte first; return where its shortest form starts.

    The shortest form drops leading bytes that only repeat the sign, as Java's `toByteArray` does.
    """
    for i in range(8):
        shift = np.uint64(56 - 8 * i)
        out[i] = np.uint8((high >> shift) & np.uint64(0xFF))
        out[8 + i] = np.uint8((low >> shift) & np.uint64(0xFF))
    sign = 0xFF if out[0] >= 0x80 else 0
    start = 0
    while start < 15 and out[start] == sign and (out[start + 1] >= 0x80) == (sign != 0):
        start += 1
    return start


@compiled
def hash_decimals(
    words: NDArray[np.uint64], present: Present, rows: Rows, hashes: KeyHashes
) -> None:
    """Hash 128-bit unscaled values, each given as its low and its high word."""
    scratch = np.empty(16, dtype=np.uint8)
    for i in range(words.shape[0]):
        if present is None or present[i]:
            row = i if rows is None else rows[i]
            start = np.uint64(big_endian(words[i, 0], words[i, 1], scratch))
            hashes[row] = hash_span(scratch, start, np.uint64(16), hashes[row])
