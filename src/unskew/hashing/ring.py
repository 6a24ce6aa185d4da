"""Workers as points on the circle of 64-bit hashes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from unskew.kernels import KeyHashes, WorkerIds
from unskew.kernels.ring import fill_points

_SEED = np.uint64(0x6B65656C)


def ring_points(workers: int, replicas: int) -> tuple[KeyHashes, WorkerIds]:
    """The points of all workers in ring order, and whose they are.

    A worker's points depend on nothing but its number, so another worker only adds points.
    """
    points = np.empty(workers * replicas, dtype=np.uint64)
    fill_points(_SEED, points)
    owners = np.repeat(np.arange(workers, dtype=np.int32), replicas)
    order = np.argsort(points, kind="stable")
    return points[order], owners[order]


def arc_shift(arcs: int) -> np.uint64:
    """How far to shift a hash right to get the number of its arc, for a power of two of arcs."""
    return np.uint64(65 - arcs.bit_length())


@lru_cache(maxsize=32)
def arc_owners(workers: int, replicas: int, arcs: int) -> WorkerIds:
    """Cut the circle into equal arcs; each belongs to the first point at or after its start."""
    points, owners = ring_points(workers, replicas)
    starts = np.arange(arcs, dtype=np.uint64) << arc_shift(arcs)
    table = owners[np.searchsorted(points, starts) % points.size]
    table.setflags(write=False)
    return table
