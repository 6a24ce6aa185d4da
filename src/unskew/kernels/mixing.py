"""From one 64-bit hash to as many independent-looking numbers as a scheme needs."""

from __future__ import annotations

import numpy as np

from unskew.kernels import KeyHashes, compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_30 = np.uint64(30)
_27 = np.uint64(27)
_31 = np.uint64(31)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@compiled
def mix(word: np.uint64) -> np.uint64:
    """The finaliser of SplitMix64: a bijection; every input bit affects every output bit."""
    word = (word ^ (word >> _30)) * _MULTIPLIER_1
    word = (word ^ (word >> _27)) * _MULTIPLIER_2
    return word ^ (word >> _31)


@compiled
def salted(word: np.uint64, salt: np.uint64) -> np.uint64:
    """The `salt`-th further hash of `word`."""
    return mix(word + salt * GOLDEN)


@compiled
def below(word: np.uint64, limit: np.uint64) -> np.uint64:
    """The upper half of `word`, scaled to 0..limit-1: a multiplication where `%` would divide."""
    return ((word >> _32) * limit) >> _32


@compiled
def below_low(word: np.uint64, limit: np.uint64) -> np.uint64:
    """As `below`, from the lower half, so that one word serves twice."""
    return ((word & _LOW) * limit) >> _32


@compiled
def salt_all(words: KeyHashes, salt: np.uint64) -> KeyHashes:
    """The `salt`-th further hash of every word."""
    out = np.empty_like(words)
    for i in range(words.size):
        out[i] = salted(words[i], salt)
    return out
