"""Consistent grouping: small equal virtual workers, moved from busy machines to idle ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.partitioners.contract import (
    KeyHashes,
    Need,
    PartitionerBase,
    WorkerIds,
    WorkerReport,
    check_epsilon,
    check_workers,
)
from unskew.partitioners.random_choices import RandomChoicesRouter
from unskew.sketches.frozen import ArrayValue, frozen


@dataclass(frozen=True, eq=False)
class ConsistentGrouping(ArrayValue, PartitionerBase):
    """Spread rows evenly over virtual workers; workers that say they are idle get more of them.

    Each worker starts with `virtual` virtual workers, filled level by the power of random choices.
    A busy worker that can be paired with an idle one hands it one; their number never changes, and
    rows already sent stay where they are. With `probing`, a worker that says busy again before it
    was paired hands one to a worker that is not busy: without it, all is still as soon as nobody
    is idle, however busy the busy ones are. `owners`, the worker of each virtual worker, goes on
    from what was learned before.

    When: machines differ in speed, or change it, and partial results merge. Not without signals:
        then it is the power of random choices with more replicas.
    Cost: O(1) amortised time per row, O(workers * virtual) memory per source, no coordination.
    Paper: Nasir et al., Consistent Grouping, section IV; probing is in section V-A.

    >>> router = ConsistentGrouping(workers=2, virtual=10).router()
    >>> router.learn(WorkerReport(busy=np.array([0], np.int32), idle=np.array([1], np.int32)))
    >>> np.bincount(router.owners).tolist()
    [9, 11]
    """

    scheme: ClassVar[str] = "cg"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    virtual: int = 10
    epsilon: float = 0.01
    distinct: bool = True
    probing: bool = True
    owners: WorkerIds = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_epsilon(self.epsilon)
        object.__setattr__(self, "owners", frozen(self.owners, np.int32))
        if not 1 <= self.virtual * self.workers < 2**31:
            raise ParameterError(
                f"virtual={self.virtual} virtual workers per worker must be at least 1, and at "
                f"most 2**31 - 1 for all workers={self.workers}"
            )
        if self.owners.size and self.owners.size != self.workers * self.virtual:
            raise ParameterError(
                f"owners has the workers of {self.owners.size} virtual workers; there are "
                f"{self.workers} * {self.virtual}"
            )
        if self.owners.size and not 0 <= self.owners.min() <= self.owners.max() < self.workers:
            raise ParameterError(
                f"owners reach from {self.owners.min()} to {self.owners.max()}; "
                f"workers={self.workers} are numbered from 0"
            )

    @property
    def max_replicas(self) -> int:
        """A key hot enough spreads over all workers."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> ConsistentGroupingRouter:
        """Start the memory of one source: the load and the owner of each virtual worker."""
        return ConsistentGroupingRouter(
            RandomChoicesRouter.start(self.workers * self.virtual, self.epsilon, self.distinct),
            owners=self.owners.copy() if self.owners.size else self._evenly(),
            probing=self.probing,
            stride=0 if self.owners.size else self.workers,
            quiet=dict.fromkeys(range(self.workers)),
        )

    def _evenly(self) -> WorkerIds:
        return np.tile(np.arange(self.workers, dtype=np.int32), self.virtual)


@dataclass(slots=True)
class ConsistentGroupingRouter:
    """One source's own map from virtual workers to workers, and the signals not yet paired.

    `busy` and `idle` are ordered sets, first come first; so is `quiet`: all workers, first those
    whose last busy signal, or last gift for want of an idle worker, is longest ago.
    """

    choose: RandomChoicesRouter
    owners: WorkerIds
    probing: bool
    stride: int
    """How far a worker's first virtual workers lie apart; 0 where they were given."""
    quiet: dict[int, None]
    busy: dict[int, None] = field(default_factory=dict)
    idle: dict[int, None] = field(default_factory=dict)
    owned: dict[int, list[int]] = field(default_factory=dict)
    """The virtual workers of those workers that have ever given or taken one."""

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        return self.owners[self.choose.route(keys)]

    def learn(self, report: WorkerReport) -> None:
        """Queue the signals and pair busy with idle workers, first come first served.

        A worker waits at most once, and its newest signal counts.
        """
        impatient = [worker for worker in report.busy.tolist() if worker in self.busy]
        for worker in report.busy.tolist():
            self.idle.pop(worker, None)
            self.busy.setdefault(worker)
            _to_the_end(worker, self.quiet)
        for worker in report.idle.tolist():
            self.busy.pop(worker, None)
            self.idle.setdefault(worker)
        while self.busy and self.idle:
            giver = _pop_first(self.busy)
            if self._can_give(giver):
                self._hand_over(giver, _pop_first(self.idle))
        if self.probing:
            self._probe(impatient)

    def _probe(self, impatient: list[int]) -> None:
        """Let workers that waited without a pair give a virtual worker to one that is not busy."""
        for giver in impatient:
            taker = next((worker for worker in self.quiet if worker not in self.busy), None)
            if giver in self.busy and taker is not None and self._can_give(giver):
                del self.busy[giver]
                _to_the_end(taker, self.quiet)
                self._hand_over(giver, taker)

    def _can_give(self, worker: int) -> bool:
        """A worker keeps its last virtual worker, or it could never report again."""
        return len(self._virtual_workers(worker)) > 1

    def _hand_over(self, giver: int, taker: int) -> None:
        moved = self._virtual_workers(giver).pop(0)
        self._virtual_workers(taker).append(moved)
        self.owners[moved] = taker

    def _virtual_workers(self, worker: int) -> list[int]:
        if worker not in self.owned:
            # It has given and taken none yet. Looking through all would take longer than routing.
            self.owned[worker] = (
                list(range(worker, self.owners.size, self.stride))
                if self.stride
                else np.flatnonzero(self.owners == worker).tolist()
            )
        return self.owned[worker]


def _pop_first(workers: dict[int, None]) -> int:
    first = next(iter(workers))
    del workers[first]
    return first


def _to_the_end(worker: int, workers: dict[int, None]) -> None:
    del workers[worker]
    workers[worker] = None
