"""Consistent hashing: a new worker takes keys from the others; no other key moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.hashing.ring import arc_owners
from unskew.partitioners.arc_router import ArcRouter
from unskew.partitioners.contract import (
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)
from unskew.partitioners.static import SplitTable, StaticRoutes

_MOST_POINTS = 2**28  # of all workers together, which are sorted in memory


@dataclass(frozen=True, slots=True)
class ConsistentRing(PartitionerBase):
    """Send each key to the worker that owns its arc of a ring.

    Every worker throws `replicas` points on the ring; the ring is cut into `arcs` equal arcs, and
    an arc belongs to the first point at or after its start. The number of arcs does not depend on
    the workers, so adding worker n moves keys only to it.

    When: whole keys, and workers come and go. Not for balance alone: it is no better than hashing.
    Cost: O(1) time per row (one lookup), O(arcs) memory per source, no coordination.
    Paper: Gedik, partitioning functions, section 2 (there with 1000 points per worker).

    >>> import numpy as np
    >>> keys = np.random.default_rng(1).integers(0, 2**63, 10_000).astype(np.uint64) * 2
    >>> before = ConsistentRing(workers=9).router().route(keys)
    >>> after = ConsistentRing(workers=10).router().route(keys)
    >>> np.unique(after[before != after]).tolist()
    [9]
    """

    scheme: ClassVar[str] = "ring"
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int
    replicas: int = 1000
    arcs: int = 65_536

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        if not 1 <= self.replicas <= _MOST_POINTS // self.workers:
            raise ParameterError(
                f"replicas={self.replicas} points per worker is not in "
                f"1..{_MOST_POINTS // self.workers} for workers={self.workers}"
            )
        # At least two: the number of an arc is the hash shifted right by fewer than 64 bits.
        if not max(self.workers, 2) <= self.arcs <= 2**28 or self.arcs.bit_count() != 1:
            raise ParameterError(
                f"arcs={self.arcs} is not a power of two in {max(self.workers, 2)}..2**28; "
                "1000 arcs per worker keep their shares within a few percent"
            )

    def owners(self) -> WorkerIds:
        """The worker of every arc."""
        return arc_owners(self.workers, self.replicas, self.arcs)

    @property
    def static(self) -> StaticRoutes:
        """Every key by its arc."""
        return StaticRoutes(self.workers, SplitTable.empty(), self.owners())

    def router(self, source: int = 0, sources: int = 1) -> ArcRouter:
        """Start the memory of one source: the owner of every arc."""
        return ArcRouter(self.owners())
