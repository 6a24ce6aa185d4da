"""A routing table: a few keys by name, the rest by another scheme."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.errors import NeedError, ParameterError
from unskew.partitioners.contract import (
    KeyHashes,
    Need,
    Partitioner,
    PartitionerBase,
    Router,
    WorkerIds,
    check_workers,
)
from unskew.partitioners.key_grouping import KeyGrouping
from unskew.partitioners.static import SplitTable, StaticRoutes
from unskew.sketches.frozen import ArrayValue, frozen
from unskew.sketches.key_table import KeyTable


@dataclass(frozen=True, eq=False)
class RoutingTable(ArrayValue, PartitionerBase):
    """Send each key of the table to its own worker and every other key where `base` sends it.

    When: whole keys are skewed and a planner knows the hot ones. Not when one key alone is more
        than a worker's share: no table can split it.
    Cost: O(1) time per row, O(entries) memory per source, no coordination; a new table is a new
        value, agreed on between intervals.
    Paper: Fang et al., workload skewness and variance, section II; Gedik, partitioning functions,
        section 3.

    >>> hot = np.array([7], dtype=np.uint64)
    >>> table = RoutingTable(workers=4, keys=hot, owners=np.array([3], dtype=np.int32))
    >>> table.router().route(np.array([7, 8], dtype=np.uint64)).tolist()
    [3, 0]
    """

    scheme: ClassVar[str] = "routing-table"
    uses_frequencies: ClassVar[bool] = True
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int
    keys: KeyHashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    owners: WorkerIds = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    base: Partitioner | None = None
    max_entries: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        if self.base is None:
            object.__setattr__(self, "base", KeyGrouping(self.workers))
        self._check_entries()
        self._check_base(self.fallback)
        order = np.argsort(self.keys, kind="stable")
        object.__setattr__(self, "keys", frozen(self.keys[order], np.uint64))
        object.__setattr__(self, "owners", frozen(self.owners[order], np.int32))
        if self.keys.size and bool((self.keys[1:] == self.keys[:-1]).any()):
            raise ParameterError("a key is in the table twice; give each key one worker")

    @property
    def fallback(self) -> Partitioner:
        """The scheme of the keys that are not in the table."""
        assert self.base is not None
        return self.base

    @property
    def static(self) -> StaticRoutes | None:
        """The table over the routes of `base`; None if these are not static."""
        routes = self.fallback.static
        return routes and routes.overridden(SplitTable.whole(self.keys, self.owners))

    def router(self, source: int = 0, sources: int = 1) -> RoutingTableRouter:
        """Start the memory of one source: the table as a hash map, and the base's own."""
        table = KeyTable()
        table.insert(self.keys, self.owners)
        return RoutingTableRouter(table, self.fallback.router(source, sources))

    def _check_entries(self) -> None:
        object.__setattr__(self, "keys", np.asarray(self.keys))
        object.__setattr__(self, "owners", np.asarray(self.owners))
        if self.keys.shape != self.owners.shape:
            raise ParameterError(
                f"{self.keys.size} keys and {self.owners.size} owners: give each key one worker"
            )
        if self.max_entries is not None and self.keys.size > self.max_entries:
            raise ParameterError(
                f"a table of {self.keys.size} keys exceeds max_entries={self.max_entries}; "
                "keep the heaviest keys, or raise max_entries"
            )
        if self.owners.size and not (self.owners.min() >= 0 and self.owners.max() < self.workers):
            raise ParameterError(
                f"owners {self.owners.min()}..{self.owners.max()} are not all in "
                f"0..{self.workers - 1}"
            )

    def _check_base(self, base: Partitioner) -> None:
        if base.workers != self.workers:
            raise ParameterError(f"base.workers={base.workers} must equal workers={self.workers}")
        if not base.need.keeps(Need.WHOLE_KEY) or base.coordinated:
            raise NeedError(
                f"base={base.scheme} does not keep keys whole without coordination; use kg or ring"
            )


@dataclass(slots=True)
class RoutingTableRouter:
    """The table as a hash map, and the base's own memory."""

    table: KeyTable
    base: Router

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        return self.table.get(keys, default=self.base.route(keys))
