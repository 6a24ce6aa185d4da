"""Random Zipf keys whose frequencies change over time, for the apps with keyed state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes
from unskew.partitioners import ConsistentRing
from unskew.workloads import FluctuatingKeys

WORKERS = 8
"""That the change is measured on; the default of `unskew run`."""
RATE = 1.0
"""Of change: a worker loses half of its load."""

Ids = NDArray[np.int64]


def changing_ids(
    keys: FluctuatingKeys,
    sizes: Sequence[int],
    every: int = 1,
    hashes: Callable[[int], KeyHashes] | None = None,
) -> Iterator[Ids]:
    """Draw `sizes[i]` key numbers in interval i; frequencies change after `every` intervals.

    `hashes` gives those of the keys that the numbers stand for in an interval, if not always the
    same.

    >>> keys = FluctuatingKeys.zipf(0.8, keys=5)
    >>> [ids.size for ids in changing_ids(keys, [3, 4])]
    [3, 4]
    """
    rng = np.random.default_rng(keys.seed)
    for interval, size in enumerate(sizes):
        if interval and interval % every == 0:
            now = keys.hashes if hashes is None else hashes(interval)
            keys = keys.shifted(ConsistentRing(WORKERS).router().route(now), RATE)
        yield rng.choice(keys.shares.size, size, p=keys.shares)
