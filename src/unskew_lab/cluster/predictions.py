"""What balance alone predicts: throughput and latency if nothing but rows takes time.

Throughput is told as the number of workers of speed 1 that would do the same with level loads.
Measured ratios that are far from predicted ones are not about balance.
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
    rows = sum(float(loads.sum()) for loads in batches)
    return float(
        np.median(
            [
                rows / sum(float((loads / slots).max()) for loads in batches)
                for slots in _placements(speeds, batches[0].size)
            ]
        )
    )


def mean_wait(batches: Sequence[Loads], speeds: Sequence[float]) -> float:
    """How many rows of a worker of speed 1 a row waits for on average.

    All rows of a micro-batch are there when it begins.

    >>> mean_wait([np.array([4.0, 2.0])], [1.0, 1.0])
    1.6666666666666667
    """
    placed = _placements(speeds, batches[0].size)
    return float(np.median([_waits(batches, slots) for slots in placed]))


def effective_virtual_workers(speeds: Sequence[float], virtual: int) -> float:
    """The same as `effective_workers` where workers have virtual workers, by their speeds.

    >>> effective_virtual_workers([1.0, 0.5], virtual=3)
    1.5
    """
    owned = _owned(speeds, virtual)
    return float(owned.sum() / (owned / np.asarray(speeds)).max())


def mean_wait_virtual(rows: int, speeds: Sequence[float], virtual: int) -> float:
    """The same as `mean_wait` for batches of `rows` where workers have virtual workers.

    >>> mean_wait_virtual(6, [1.0, 0.5], virtual=3)
    2.0
    """
    owned = _owned(speeds, virtual)
    return _waits([rows * owned / owned.sum()], np.asarray(speeds, dtype=float))


def _placements(speeds: Sequence[float], workers: int) -> list[Loads]:
    """Slots in the order of the workers on them, in several ways if they differ."""
    slots = np.asarray(speeds, dtype=float)[:workers]
    if len(set(slots.tolist())) == 1:
        return [slots]
    draw = np.random.default_rng(0)
    return [draw.permutation(slots) for _ in range(PLACES)]


def _waits(batches: Sequence[Loads], slots: Loads) -> float:
    done = sum(float((loads * loads / slots).sum()) / 2 for loads in batches)
    return done / sum(float(loads.sum()) for loads in batches)


def _owned(speeds: Sequence[float], virtual: int) -> Loads:
    """The virtual workers of each worker, as level by their speeds as whole ones can be."""
    slots = np.asarray(speeds, dtype=float)
    owned = np.ones(slots.size)
    for _ in range((virtual - 1) * slots.size):
        owned[np.argmin((owned + 1) / slots)] += 1
    return owned
