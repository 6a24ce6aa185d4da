"""Planners of the next micro-batch: by the keys of the last one, or by its workers' times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from unskew._spark.planning.stream_request import LEARNING
from unskew._spark.routing.route import Route
from unskew._spark.streaming.replan.partial_store import BatchKeys
from unskew.kernels.planned import Weights
from unskew.partitioners import AdaptiveSplit, ConsistentGrouping, Partitioner, PlannedSplit
from unskew.partitioners.consistent_grouping import ConsistentGroupingRouter
from unskew.partitioners.contract import WorkerReport
from unskew.partitioners.serialization import build
from unskew.partitioners.split_replanning import replan_for
from unskew.partitioners.static import SplitTable

VIRTUAL = 100
"""Virtual workers for each worker: a hundredth of its work is what moves at a time."""

TOLERATED = 0.05
"""How far above the mean a worker's time may be before the worker counts as busy, unless asked."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchOutcome:
    """The loads and times of one micro-batch."""

    seconds: Weights
    """Of each worker, for its rows."""
    loads: Weights
    """Rows of each worker."""
    took: float
    """Seconds of the whole batch."""


class BatchPlanner(Protocol):
    """Makes a route for each batch, and learns from the batch that took it."""

    @property
    def workers(self) -> int:
        """Workers of the next route."""
        ...

    @property
    def pinned(self) -> bool:
        """Whether workers must stay on their machines: what is learned of one holds only there."""
        ...

    @property
    def table_size(self) -> int:
        """Keys that the next route names."""
        ...

    def partitioner(self) -> Partitioner:
        """How the next batch is routed."""
        ...

    def learn(self, outcome: BatchOutcome, counts: Callable[[], BatchKeys]) -> None:
        """Learn from a batch; `counts` reads how many rows its keys had."""
        ...


@dataclass(frozen=True, slots=True)
class FixedRoute:
    """The same scheme in every batch, each worker on its own machine: to compare with."""

    route: Route
    pinned: bool = field(default=True, init=False)

    @property
    def workers(self) -> int:
        """How many there are."""
        return self.route.workers

    @property
    def table_size(self) -> int:
        """0: nothing is planned."""
        return 0

    def partitioner(self) -> Partitioner:
        """The scheme."""
        return self.route.partitioner

    def learn(self, outcome: BatchOutcome, counts: Callable[[], BatchKeys]) -> None:
        """Nothing is learned."""


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
        """The plan, with overflow bounded; before the first batch a router that learns online."""
        if self.table is None:
            return build(LEARNING, self.workers)
        interval = max(self.rows, 1000)
        start = PlannedSplit.of(self.workers, self.table)
        return AdaptiveSplit(self.workers, start, interval=interval)

    def learn(self, outcome: BatchOutcome, counts: Callable[[], BatchKeys]) -> None:
        """Plan as if the same keys came again."""
        found = counts()
        if not found.keys.size:
            return
        self.table = replan_for(self.table or SplitTable.empty(), *found)
        self.rows = int(found.hashed.sum())


@dataclass(slots=True)
class VirtualWorkers:
    """Consistent grouping: slow workers hand virtual workers to fast ones.

    The paper's workers signal in every slot of time, and a pair of signals moves one virtual
    worker. A micro-batch is many slots: signals go on, with the times that each move would have
    led to, until nobody is busy.
    """

    scheme: ConsistentGrouping
    memory: ConsistentGroupingRouter
    tolerance: float = TOLERATED
    """How far above the mean a worker's time may be before the worker counts as busy."""
    pinned: bool = field(default=True, init=False)

    @classmethod
    def of(cls, workers: int, tolerance: float = TOLERATED, **settings: Any) -> VirtualWorkers:
        """Start with equally many virtual workers each, unless the settings say otherwise."""
        # Owners that are given belong to the scheme's own number of virtual workers.
        virtual = 0 if "owners" in settings else VIRTUAL
        settings = {"virtual": virtual, "eager": False, **settings}
        return cls.going_on(ConsistentGrouping(workers, **settings), tolerance)

    @classmethod
    def going_on(cls, scheme: ConsistentGrouping, tolerance: float = TOLERATED) -> VirtualWorkers:
        """Start with the virtual workers of `scheme`."""
        return cls(scheme, scheme.router(), tolerance)

    def go_on(self, owners: Sequence[int]) -> None:
        """Take the map of an earlier run up, if it has as many virtual workers."""
        found = np.array(owners, dtype=np.int32)
        if found.size == self.memory.owners.size and found.max(initial=0) < self.workers:
            self.memory = replace(self.scheme, owners=found).router()

    @property
    def workers(self) -> int:
        """How many there are."""
        return self.scheme.workers

    @property
    def table_size(self) -> int:
        """0: no key is named."""
        return 0

    def partitioner(self) -> Partitioner:
        """The current virtual workers."""
        return replace(self.scheme, owners=self.memory.owners)

    def learn(self, outcome: BatchOutcome, counts: Callable[[], BatchKeys]) -> None:
        """Move virtual workers until the times would be level."""
        seconds = outcome.seconds
        owned = np.bincount(self.memory.owners, minlength=self.workers)
        if not seconds.any():
            return
        # The speed of a worker without rows is unknown: take the mean.
        each = np.where(seconds > 0, seconds, seconds.mean()) / np.maximum(owned, 1)
        for _ in range(self.memory.owners.size):
            owned = np.bincount(self.memory.owners, minlength=self.workers)
            report = _signals(each * owned, self.tolerance)
            if not report.busy.size:
                return
            self.memory.learn(report)


def _signals(times: Weights, tolerance: float) -> WorkerReport:
    """Signals of the slowest worker, if it is far above the mean, and of the fastest."""
    busy, idle = np.array([[times.argmax()], [times.argmin()]], dtype=np.int32)
    if times.max() <= times.mean() * (1 + tolerance):
        return WorkerReport()
    return WorkerReport(busy=busy, idle=idle)
