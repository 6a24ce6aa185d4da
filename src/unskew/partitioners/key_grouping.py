"""Key grouping: the hash of a key picks its one worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.choices import send_by_hash
from unskew.partitioners.contract import (
    KeyHashes,
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)
from unskew.partitioners.static import SplitTable, StaticRoutes


@dataclass(frozen=True, slots=True)
class KeyGrouping(PartitionerBase):
    """Send each key to the one worker that its hash picks.

    When: keys are even, or the work needs whole keys and no key is hot. Not when keys are skewed:
        the worker of the hottest key sets the pace of all.
    Cost: O(1) time per row, no memory, no coordination.
    Paper: the baseline (KG, hashing) of all five.

    >>> keys = np.array([7, 7, 2**63], dtype=np.uint64)
    >>> KeyGrouping(workers=4).router().route(keys).tolist()
    [0, 0, 2]
    """

    scheme: ClassVar[str] = "kg"
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)

    @property
    def static(self) -> StaticRoutes:
        """Every key by its hash."""
        return StaticRoutes(self.workers, SplitTable.empty())

    def router(self, source: int = 0, sources: int = 1) -> KeyGroupingRouter:
        """Start one source; it needs no memory."""
        return KeyGroupingRouter(self.workers)


@dataclass(slots=True)
class KeyGroupingRouter:
    """Remembers nothing: a route is a pure function of the hash."""

    workers: int

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        send_by_hash(keys, np.uint64(self.workers), out)
        return out
