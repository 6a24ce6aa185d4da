"""Exact counts of keys, as a value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.errors import ParameterError
from unskew.kernels import KeyHashes
from unskew.sketches.frozen import ArrayValue, frozen


@dataclass(frozen=True, eq=False, slots=True)
class KeyCounts(ArrayValue):
    """Keys with their counts, the most frequent first; equal counts are sorted by key.

    >>> KeyCounts.of([np.array([4, 9, 9], dtype=np.uint64)])
    KeyCounts(keys=array([9, 4], dtype=uint64), counts=array([2, 1]))
    """

    keys: KeyHashes
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.keys.shape != self.counts.shape or self.keys.ndim != 1:
            raise ParameterError(
                f"keys and counts must be two vectors of equal length, not of shape "
                f"{self.keys.shape} and {self.counts.shape}"
            )
        if self.counts.size and self.counts.min() < 0:
            raise ParameterError(f"a count of {self.counts.min()} is negative; give 0 or more")
        order = np.lexsort((self.keys, -self.counts))
        object.__setattr__(self, "keys", frozen(self.keys[order], np.uint64))
        object.__setattr__(self, "counts", frozen(self.counts[order], np.int64))

    @classmethod
    def of(cls, chunks: Iterable[KeyHashes]) -> KeyCounts:
        """Count the keys of a stream, one chunk after the other."""
        keys, counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        for chunk in chunks:
            seen, times = np.unique(chunk, return_counts=True)
            keys, where = np.unique(np.concatenate([keys, seen]), return_inverse=True)
            counts = np.bincount(
                where, weights=np.concatenate([counts, times]), minlength=keys.size
            ).astype(np.int64)
        return cls(keys, counts)

    @classmethod
    def none(cls) -> KeyCounts:
        """No keys at all."""
        return cls(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))
