"""Online greedy: a new key goes to the least loaded worker of all and stays there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.levelling import ground_level, send_new_keys_to_lowest
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)
from unskew.sketches.key_table import KeyTable


@dataclass(frozen=True, slots=True)
class OnlineGreedy(PartitionerBase):
    """Give a new key to the least loaded of all workers, and keep it there.

    When: as a yardstick for whole keys that nothing is known of. A key that turns hot later stays
        where it is; a plan made from frequencies does better.
    Cost: O(1) amortised time per row, O(keys) memory, and all sources must share that memory.
    Paper: Partial Key Grouping, section 6.2 (On-Greedy).

    >>> keys = np.array([10, 20, 30, 10], dtype=np.uint64)
    >>> OnlineGreedy(workers=3).router().route(keys).tolist()
    [0, 1, 2, 0]
    """

    scheme: ClassVar[str] = "online-greedy"
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)

    @property
    def coordinated(self) -> bool:
        """A key's worker must be known to all sources."""
        return True

    def router(self, source: int = 0, sources: int = 1) -> OnlineGreedyRouter:
        """Start the memory: the worker of every key seen, and a load per worker."""
        return OnlineGreedyRouter(
            np.zeros(self.workers, dtype=np.int64), ground_level(self.workers)
        )


@dataclass(slots=True)
class OnlineGreedyRouter:
    """The worker of every key seen; `level` finds the least loaded worker."""

    loads: Loads
    level: Loads
    table: KeyTable = field(default_factory=KeyTable)

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        for part in self.table.parts(keys):
            self.table.size += send_new_keys_to_lowest(
                keys[part],
                self.loads,
                self.level,
                self.table.slots,
                self.table.values,
                out[part],
            )
        return out
