"""Offline greedy: all keys by falling frequency, each to the least loaded worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.levelling import place_heaviest_first
from unskew.partitioners.contract import Need, PartitionerBase, check_workers
from unskew.partitioners.routing_table import RoutingTable, RoutingTableRouter
from unskew.partitioners.static import StaticRoutes
from unskew.sketches.key_counts import KeyCounts


@dataclass(frozen=True, slots=True)
class OfflineGreedy(PartitionerBase):
    """Place keys of known frequency, heaviest first, on the least loaded worker.

    When: as the yardstick of what whole keys allow. A table of every key is rarely affordable;
        the planners of `unskew.rebalancing` come close with a few thousand entries.
    Cost: O(keys log workers) once, then O(1) time per row and O(keys) memory per source.
    Paper: Partial Key Grouping, section 6.2 (Off-Greedy).

    >>> keys = np.array([5, 5, 5, 6, 6, 7], dtype=np.uint64)
    >>> OfflineGreedy(workers=2, counts=KeyCounts.of([keys])).router().route(keys).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    scheme: ClassVar[str] = "offline-greedy"
    uses_frequencies: ClassVar[bool] = True
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int
    counts: KeyCounts = field(default_factory=KeyCounts.none)

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)

    def table(self) -> RoutingTable:
        """The placement as a table; keys that were not counted go by hash."""
        owners = np.empty(self.counts.keys.size, dtype=np.int32)
        loads = np.zeros(self.workers, dtype=np.int64)
        place_heaviest_first(self.counts.counts, loads, owners)
        return RoutingTable(self.workers, self.counts.keys, owners)

    @property
    def static(self) -> StaticRoutes | None:
        """The table over key grouping, computed at each access."""
        return self.table().static

    def router(self, source: int = 0, sources: int = 1) -> RoutingTableRouter:
        """Start the memory of one source: the table."""
        return self.table().router(source, sources)
