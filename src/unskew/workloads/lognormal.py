"""Keys that are rounded log-normal draws, as in models of social networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.hashing import hash_ids
from unskew.kernels import KeyHashes
from unskew.workloads.stream import check_at_least, chunk_sizes


@dataclass(frozen=True, slots=True)
class LogNormalStream:
    """Independent log-normal draws, rounded to whole numbers: each number is a key.

    >>> next(LogNormalStream(mu=1.789, sigma=2.366, messages=5).ids()).tolist()
    [2, 12817, 30, 17, 0]
    """

    mu: float
    sigma: float
    messages: int
    seed: int = 42

    def __post_init__(self) -> None:
        check_fields(self)
        check_at_least("sigma", self.sigma, 0)
        check_at_least("mu", self.mu, -1000)
        check_at_least("messages", self.messages, 0)
        check_at_least("seed", self.seed, 0)

    def ids(self) -> Iterator[NDArray[np.int64]]:
        """The keys themselves, in chunks."""
        rng = np.random.default_rng([self.seed, self.messages])
        for size in chunk_sizes(self.messages):
            draws = np.minimum(rng.lognormal(self.mu, self.sigma, size), 2.0**62)
            yield np.rint(draws).astype(np.int64)

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        return map(hash_ids, self.ids())
