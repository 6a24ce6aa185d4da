"""How the next micro-batch is routed: by the keys of the last, or the times of its workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from unskew._spark.planning.stream_request import LEARNING
from unskew._spark.streaming.replan.partial_store import KeyCounts
from unskew.kernels.planned import Weights
from unskew.partitioners import ConsistentGrouping, Partitioner, PlannedSplit
from unskew.partitioners.consistent_grouping import ConsistentGroupingRouter
from unskew.partitioners.contract import WorkerReport
from unskew.partitioners.serialization import build
from unskew.partitioners.split_replanning import replan_for
from unskew.partitioners.static import SplitTable

VIRTUAL = 100
"""Virtual workers for each worker: a hundredth of its work is what moves at a time."""

TOLERATED = 0.05
"""How far above the mean a worker's time may be before it counts as busy."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a micro-batch took."""

    seconds: Weights
    """That each worker needed for its rows."""
    loads: Weights
    """Rows of each worker."""
    took: float
    """Seconds of the whole batch."""


class BatchPlanner(Protocol):
    """Makes a route, and learns from the batch that took it."""

    @property
    def workers(self) -> int:
        """How many the next route has."""
        ...

    @property
    def pinned(self) -> bool:
        """Whether what it learns of a worker holds only if that stays on its machine."""
        ...

    @property
    def table_size(self) -> int:
        """Keys that the next route names."""
        ...

    def partitioner(self) -> Partitioner:
        """How the next batch is routed."""
        ...

    def learn(self, outcome: Outcome, counts: Callable[[], KeyCounts]) -> None:
        """Take what the batch took; `counts` reads how many rows its keys had."""
        ...


@dataclass(slots=True)
class SplitPlanner:
    """A planned split of the last batch's keys; a key keeps its workers while they fit."""

    workers: int
    table: SplitTable | None = None
    rows: int = 0
    pinned: bool = field(default=False, init=False)

    @property
    def table_size(self) -> int:
        """Keys that the plan names."""
        return 0 if self.table is None else self.table.keys.size

    def partitioner(self) -> Partitioner:
        """The plan, with overflow bounded; a router that learns where no batch was yet."""
        if self.table is None:
            return build(LEARNING, self.workers)
        interval = max(self.rows, 1000)
        return PlannedSplit(self.workers, *self.table, mode="online", interval=interval)

    def learn(self, outcome: Outcome, counts: Callable[[], KeyCounts]) -> None:
        """Plan for the same keys with the same rows."""
        found = counts()
        if not found.keys.size:
            return
        nothing = SplitTable(*PlannedSplit(self.workers).table)
        self.table = replan_for(self.table or nothing, *found)
        self.rows = int(found.hashed.sum())


@dataclass(slots=True)
class VirtualWorkers:
    """Consistent grouping: who took long hands virtual workers to who was done early.

    The paper's workers signal in every slot of time, and a pair of signals moves one virtual
    worker. A micro-batch is many slots: signals go on, with the times that each move would have
    led to, until nobody is busy.
    """

    memory: ConsistentGroupingRouter
    pinned: bool = field(default=True, init=False)

    @classmethod
    def of(cls, workers: int) -> VirtualWorkers:
        """As many virtual workers for all."""
        return cls(ConsistentGrouping(workers, VIRTUAL).router())

    @property
    def workers(self) -> int:
        """How many there are."""
        return self.memory.owners.size // VIRTUAL

    @property
    def table_size(self) -> int:
        """No key is named."""
        return 0

    def partitioner(self) -> Partitioner:
        """The virtual workers as they are now."""
        return ConsistentGrouping(self.workers, VIRTUAL, owners=self.memory.owners)

    def learn(self, outcome: Outcome, counts: Callable[[], KeyCounts]) -> None:
        """Signal and pair, until the times would be level."""
        seconds = outcome.seconds
        owned = np.bincount(self.memory.owners, minlength=self.workers)
        if not seconds.any():
            return
        # A worker without rows tells nothing: it is taken for a middling one.
        each = np.where(seconds > 0, seconds, seconds.mean()) / np.maximum(owned, 1)
        for _ in range(self.memory.owners.size):
            owned = np.bincount(self.memory.owners, minlength=self.workers)
            report = _signals(each * owned)
            if not report.busy.size:
                return
            self.memory.learn(report)


def _signals(times: Weights) -> WorkerReport:
    """Of the longest, which is busy if it is far above the mean, and of the shortest."""
    busy, idle = np.array([[times.argmax()], [times.argmin()]], dtype=np.int32)
    if times.max() <= times.mean() * (1 + TOLERATED):
        return WorkerReport()
    return WorkerReport(busy=busy, idle=idle)
