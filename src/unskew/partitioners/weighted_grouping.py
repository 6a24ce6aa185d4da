"""Weighted key grouping: the hash of a key picks its one worker, some workers more often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.partitioners.arc_router import ArcRouter
from unskew.partitioners.contract import (
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)
from unskew.partitioners.static import SplitTable, StaticRoutes
from unskew.sketches.frozen import ArrayValue, frozen

_MOST_ARCS = 2**28
_PLENTY = 65_536


@dataclass(frozen=True, eq=False)
class WeightedGrouping(ArrayValue, PartitionerBase):
    """Send each key to the worker that owns its part of the range of hashes; parts differ in size.

    The range is cut into equal arcs, a power of two of them. From its start on, `owners[0]` has
    the first `arcs[0]`, `owners[1]` the next `arcs[1]`, and so on; a worker may have none. Without
    both, all workers have the same number of arcs, or one more.

    When: whole keys, none of them hot, and workers that have room for unequal shares: the rest of
        a routing table, or machines that differ in speed. Not when a key is hot: name it in a
        routing table over this one.
    Cost: O(1) time per row (one lookup), O(arcs) memory per source, no coordination.
    Paper: ours.

    >>> owners, arcs = np.array([2, 0], dtype=np.int32), np.array([1, 3])
    >>> parts = WeightedGrouping(workers=3, owners=owners, arcs=arcs)
    >>> parts.router().route(np.array([7, 2**62, 2**63], dtype=np.uint64)).tolist()
    [2, 0, 0]
    """

    scheme: ClassVar[str] = "weighted-kg"
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int
    owners: WorkerIds = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    arcs: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        if not len(self.owners) and not len(self.arcs):
            object.__setattr__(self, "owners", np.arange(self.workers))
            object.__setattr__(self, "arcs", _even(self.workers))
        object.__setattr__(self, "owners", frozen(self.owners, np.int32))
        object.__setattr__(self, "arcs", frozen(self.arcs, np.int64))
        self._check_arcs()

    def owner_of_arc(self) -> WorkerIds:
        """The worker of every arc."""
        return np.repeat(self.owners, self.arcs)

    @property
    def static(self) -> StaticRoutes:
        """Every key by its arc."""
        return StaticRoutes(self.workers, SplitTable.empty(), self.owner_of_arc())

    def router(self, source: int = 0, sources: int = 1) -> ArcRouter:
        """Start the memory of one source: the owner of every arc."""
        return ArcRouter(self.owner_of_arc())

    def _check_arcs(self) -> None:
        if self.owners.size != self.arcs.size:
            raise ParameterError(
                f"{self.owners.size} owners and {self.arcs.size} numbers of arcs: "
                "give each owner its number"
            )
        if not 0 <= self.owners.min() <= self.owners.max() < self.workers:
            raise ParameterError(
                f"owners {self.owners.min()}..{self.owners.max()} are not all in "
                f"0..{self.workers - 1}; deal the arcs out anew for another number of workers"
            )
        total = sum(self.arcs.tolist())  # numpy's own sum could wrap around
        if self.arcs.min() < 0 or not 2 <= total <= _MOST_ARCS or total.bit_count() != 1:
            raise ParameterError(
                f"{total} arcs in all, {self.arcs.min()} at least: give no owner fewer than 0, "
                "and all of them a power of two in 2..2**28"
            )


def arcs_for(workers: int) -> int:
    """How many arcs bring workers within a percent of any shares of the range.

    128 for each worker; beyond 500 workers fewer, since a query plan holds the owner of every arc.
    """
    enough = max(128 * workers, 2)
    return 1 << (min(enough, max(_PLENTY, workers)) - 1).bit_length()


def _even(workers: int) -> NDArray[np.int64]:
    ends = np.arange(workers + 1, dtype=np.int64) * arcs_for(workers) // workers
    return np.diff(ends)
