"""What balance alone predicts: throughput if the fullest worker decides and all else is free.

The number of workers of speed 1 that would do the same with level loads. Measured ratios that are
far from predicted ones are not about balance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes
from unskew.partitioners import Partitioner

PLACES = 201
"""Ways to deal workers to slots that are tried; the median counts."""

Loads = NDArray[np.float64]


def loads_of(partitioner: Partitioner, batches: Iterable[Sequence[KeyHashes]]) -> list[Loads]:
    """Rows of each worker in each micro-batch, whose sources begin with it."""
    found = []
    for parts in batches:
        loads = np.zeros(partitioner.workers)
        for source, hashes in enumerate(parts):
            routed = partitioner.router(source, len(parts)).route(hashes)
            loads += np.bincount(routed, minlength=loads.size)
        found.append(loads)
    return found


def effective_workers(batches: Sequence[Loads], speeds: Sequence[float]) -> float:
    """How many level workers of speed 1 are as fast; which worker is where is not known before.

    >>> effective_workers([np.array([3.0, 1.0])], [1.0, 1.0])
    1.3333333333333333
    """
    draw, rows = np.random.default_rng(0), sum(float(loads.sum()) for loads in batches)
    slots = np.asarray(speeds, dtype=float)[: batches[0].size]
    found = []
    for _ in range(PLACES if len(set(slots.tolist())) > 1 else 1):
        placed = draw.permutation(slots)
        found.append(rows / sum(float((loads / placed).max()) for loads in batches))
    return float(np.median(found))


def effective_virtual_workers(speeds: Sequence[float], virtual: int) -> float:
    """The same where workers have virtual workers, all level, by their speeds as far as they go.

    >>> effective_virtual_workers([1.0, 0.5], virtual=3)
    1.5
    """
    slots = np.asarray(speeds, dtype=float)
    number = virtual * slots.size
    owned = np.ones(slots.size)
    for _ in range(number - slots.size):
        owned[np.argmin((owned + 1) / slots)] += 1
    return number / float((owned / slots).max())
