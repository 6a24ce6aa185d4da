"""Shuffle grouping: rows to workers in turn, whatever their key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.spreading import send_round_robin
from unskew.partitioners.contract import (
    KeyHashes,
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)


@dataclass(frozen=True, slots=True)
class ShuffleGrouping(PartitionerBase):
    """Deal rows to the workers in turn; sources start at different workers.

    When: rows are independent and cost the same on machines of one speed. Where partial results
        merge it is as legal and as level, and needs the most memory: nothing bounds on how many
        workers a key is found.
    Cost: O(1) time per row, O(1) memory per source, no coordination.
    Paper: the baseline (SG, round robin) of papers on partial key and consistent grouping.

    >>> router = ShuffleGrouping(workers=3).router(source=1, sources=3)
    >>> router.route(np.zeros(4, np.uint64)).tolist()
    [1, 2, 0, 1]
    """

    scheme: ClassVar[str] = "sg"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)

    @property
    def max_replicas(self) -> int:
        """A key may be anywhere."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> ShuffleGroupingRouter:
        """Start the memory of one source: whose turn it is."""
        return ShuffleGroupingRouter(self.workers, turn=source * self.workers // sources)


@dataclass(slots=True)
class ShuffleGroupingRouter:
    """Whose turn it is."""

    workers: int
    turn: int

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        send_round_robin(self.turn, self.workers, out)
        self.turn = (self.turn + keys.size) % self.workers
        return out
