"""Consistent hashing with bounded loads: the next worker of the ring that is not full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.hashing.ring import ring_points
from unskew.kernels.capacity import send_round_the_ring
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    check_epsilon,
    check_workers,
)


@dataclass(frozen=True, slots=True)
class BoundedRing(PartitionerBase):
    """Send each row to the first worker with room, clockwise from its key's point of the ring.

    Every worker is one point. It has room below (1 + epsilon) times the mean load, the current
    row included.

    When: as a yardstick for `RandomChoices`, which is as level with fewer replicas: here all keys
        that meet a full stretch of the ring pile up behind it.
    Cost: O(1) amortised time per row, O(workers) memory per source, no coordination.
    Paper: Mirrokni et al.; CH in Consistent Grouping, section II-B.

    >>> loads = np.bincount(BoundedRing(workers=4).router().route(np.zeros(4000, np.uint64)))
    >>> int(loads.max())
    1010
    """

    scheme: ClassVar[str] = "ch"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_epsilon(self.epsilon)

    @property
    def max_replicas(self) -> int:
        """A key hot enough goes all the way round."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> BoundedRingRouter:
        """Start the memory of one source: a load per position on the ring."""
        points, order = ring_points(self.workers, replicas=1)
        guide_bits = (2 * self.workers - 1).bit_length()
        starts = np.arange(1 << guide_bits, dtype=np.uint64) << np.uint64(64 - guide_bits)
        return BoundedRingRouter(
            self.epsilon,
            points,
            guide=np.searchsorted(points, starts).astype(np.int32),
            order=order,
            loads=np.zeros(self.workers, dtype=np.int64),
            skips=np.zeros(self.workers, dtype=np.int32),
            limit=np.zeros(1, dtype=np.int64),
        )


@dataclass(slots=True)
class BoundedRingRouter:
    """Loads in ring order; `skips` leads past full positions while `limit` holds."""

    epsilon: float
    points: KeyHashes
    guide: NDArray[np.int32]
    order: WorkerIds
    loads: Loads
    skips: NDArray[np.int32]
    limit: Loads
    rows: int = 0

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        send_round_the_ring(
            keys,
            self.epsilon,
            self.points,
            self.guide,
            self.loads,
            self.rows,
            self.skips,
            self.limit,
            self.order,
            out,
        )
        self.rows += keys.size
        return out
