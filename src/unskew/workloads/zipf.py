"""Keys with Zipf frequencies: the r-th most frequent occurs in proportion to r**-exponent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.hashing import hash_ids
from unskew.kernels import KeyHashes
from unskew.kernels.sampling import guide_to, invert
from unskew.workloads.stream import check_at_least, chunk_sizes

MOST_KEYS = 2**28
"""Beyond it the frequencies of the keys would not fit into eight gigabytes."""


def zipf_probabilities(exponent: float, keys: int) -> NDArray[np.float64]:
    """The probability of each rank.

    >>> zipf_probabilities(1.0, keys=2).round(3).tolist()
    [0.667, 0.333]
    """
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True, slots=True)
class ZipfStream:
    """Independent draws of `keys` keys with Zipf frequencies. Key i is the BIGINT i, 0 the hottest.

    >>> stream = ZipfStream(exponent=1.0, keys=10, messages=3)
    >>> next(stream.ids()).tolist()
    [9, 1, 0]
    """

    exponent: float
    keys: int
    messages: int
    seed: int = 42

    def __post_init__(self) -> None:
        check_fields(self)
        check_at_least("exponent", self.exponent, 0)
        check_at_least("keys", self.keys, 1)
        if self.keys > MOST_KEYS:
            raise ParameterError(
                f"keys={self.keys} is above {MOST_KEYS}; their frequencies must fit into memory"
            )
        check_at_least("messages", self.messages, 0)
        check_at_least("seed", self.seed, 0)

    def ids(self) -> Iterator[NDArray[np.int64]]:
        """The keys themselves, in chunks."""
        cumulated = np.cumsum(zipf_probabilities(self.exponent, self.keys))
        guide = guide_to(cumulated)
        rng = np.random.default_rng([self.seed, round(1000 * self.exponent), self.messages])
        for size in chunk_sizes(self.messages):
            out = np.empty(size, dtype=np.int64)
            invert(cumulated, guide, rng.random(size), out)
            yield out

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        hashes = hash_ids(np.arange(self.keys))
        for ids in self.ids():
            yield hashes[ids]
