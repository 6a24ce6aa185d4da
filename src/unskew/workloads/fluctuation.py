"""Key frequencies that shift from interval to interval, to unbalance the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unskew.errors import ParameterError
from unskew.hashing import hash_ids
from unskew.kernels import KeyHashes, WorkerIds
from unskew.workloads.zipf import zipf_probabilities

Shares = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FluctuatingKeys:
    """Keys with their share of the messages; `shifted` is the next interval, with other shares.

    Paper: Fang et al., workload skewness and variance, section V: the frequencies of keys on
        different workers are swapped until a worker's load L has changed by |L' − L| / L' ≥ rate.
        It does not say which keys; here one worker at random loses its keys, hot ones more likely
        first, to light keys of others at random, until its load is 1/(1 + rate) of what it was
        (or as low as it gets: even shares leave nothing to lose).

    >>> keys = FluctuatingKeys.zipf(0.85, keys=1000, seed=1)
    >>> owner = (keys.hashes % np.uint64(5)).astype(np.int32)
    >>> before, after = (np.bincount(owner, each.shares) for each in (keys, keys.shifted(owner, 1)))
    >>> bool(np.max((before - after) / after) >= 1)
    True
    """

    hashes: KeyHashes
    shares: Shares
    seed: tuple[int, int]

    @classmethod
    def zipf(cls, exponent: float, keys: int, seed: int = 42) -> Self:
        """Shares by a Zipf law, dealt to the keys at random."""
        shares = np.random.default_rng(seed).permutation(zipf_probabilities(exponent, keys))
        return cls(hash_ids(np.arange(keys, dtype=np.int64)), shares, (seed, 0))

    def counts(self, messages: int) -> Shares:
        """How often each key occurs among about `messages` messages of this interval."""
        rng = np.random.default_rng((*self.seed, 1))
        return rng.poisson(self.shares * messages).astype(np.float64)

    def shifted(self, owner: WorkerIds, rate: float) -> Self:
        """The next interval, for keys that now are on `owner`."""
        if not 0 <= rate < float("inf"):
            raise ParameterError(f"rate={rate} must not be negative; 1.0 halves a worker's load")
        rng = np.random.default_rng((*self.seed, 2))
        shares, following = self.shares.copy(), (self.seed[0], self.seed[1] + 1)
        loads = np.bincount(owner, weights=shares)
        worker = rng.choice(np.flatnonzero(loads > 0))
        mine = np.flatnonzero((owner == worker) & (shares > 0))
        others = np.flatnonzero(owner != worker)
        if rate == 0 or not others.size:
            return type(self)(self.hashes, shares, following)
        others = others[shares[others] <= np.median(shares[others])]
        # The smallest of exponentials with these rates are a draw without replacement by weight.
        mine = mine[np.argsort(rng.exponential(size=mine.size) / shares[mine])][: others.size]
        theirs = rng.permutation(others)[: mine.size]
        lost = np.cumsum(shares[mine] - shares[theirs])
        enough = np.flatnonzero(lost >= loads[worker] * rate / (1 + rate))
        number = int(enough[0] if enough.size else np.argmax(lost)) + 1
        one, two = mine[:number], theirs[:number]
        shares[one], shares[two] = shares[two], shares[one]
        return type(self)(self.hashes, shares, following)
