"""Consistent grouping: small equal virtual workers, moved from busy machines to idle ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evenkeel.errors import ParameterError
from evenkeel.partitioners.contract import (
    Independent,
    KeyHashes,
    Need,
    WorkerIds,
    WorkerReport,
    check_epsilon,
    check_workers,
)
from evenkeel.partitioners.random_choices import RandomChoicesRouter


@dataclass(frozen=True, slots=True)
class ConsistentGrouping(Independent):
    """Spread rows evenly over virtual workers; workers that say they are idle get more of them.

    Each worker starts with `virtual` virtual workers, filled level by the power of random choices.
    A busy worker that can be paired with an idle one hands it one; their number never changes, and
    rows already sent stay where they are.

    When: machines differ in speed, or change it, and partial results merge. Not without signals:
        then it is the power of random choices with more replicas.
    Cost: O(1) amortised time per row, O(workers * virtual) memory per source, no coordination.
    Paper: Nasir et al., Consistent Grouping, section IV.

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

    def __post_init__(self) -> None:
        check_workers(self.workers)
        check_epsilon(self.epsilon)
        if not 1 <= self.virtual * self.workers < 2**31:
            raise ParameterError(
                f"virtual={self.virtual} is not at least 1 virtual worker per worker "
                f"(and at most 2**31 - 1 for all)"
            )

    @property
    def max_replicas(self) -> int:
        """A key hot enough spreads over all workers."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> ConsistentGroupingRouter:
        """Start the memory of one source: a load per virtual worker, and whose each is."""
        return ConsistentGroupingRouter(
            RandomChoicesRouter.start(self.workers * self.virtual, self.epsilon, self.distinct),
            owners=np.tile(np.arange(self.workers, dtype=np.int32), self.virtual),
        )


@dataclass(slots=True)
class ConsistentGroupingRouter:
    """One source's own map from virtual workers to workers, and the signals not yet paired."""

    choose: RandomChoicesRouter
    owners: WorkerIds
    busy: list[int] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        return self.owners[self.choose.route(keys)]

    def learn(self, report: WorkerReport) -> None:
        """Queue the signals and pair busy with idle workers, first come first served.

        A worker waits at most once, and its newest signal counts.
        """
        _queue(report.busy, into=self.busy, out_of=self.idle)
        _queue(report.idle, into=self.idle, out_of=self.busy)
        while self.busy and self.idle:
            self._hand_over(self.busy.pop(0), self.idle)

    def _hand_over(self, busy: int, idle: list[int]) -> None:
        """Move one virtual worker; a worker keeps its last one, or it could never report again."""
        owned = np.flatnonzero(self.owners == busy)
        if owned.size > 1:
            self.owners[owned[0]] = idle.pop(0)


def _queue(workers: WorkerIds, into: list[int], out_of: list[int]) -> None:
    for worker in workers.tolist():
        if worker in out_of:
            out_of.remove(worker)
        if worker not in into:
            into.append(worker)
