"""Consistent grouping: small equal virtual workers, moved from busy machines to idle ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
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
from unskew.partitioners.random_choices import RandomChoicesRouter, check_forgetting
from unskew.sketches.frozen import ArrayValue, frozen

RESOLUTION = 0.05
"""What one virtual worker is of a worker, at most: how finely load can be shared out."""

_ROWS_A_WINDOW = 6
"""Rows per virtual worker before loads are halved: few, and yet a row is a small share of them."""


def virtual_for(workers: int) -> int:
    """Virtual workers per worker: enough for the resolution, and more for many workers.

    The paper asks for O(log n) of them; up to ten workers the resolution decides.

    >>> virtual_for(10), virtual_for(1000)
    (20, 60)
    """
    return math.ceil(max(1.0, math.log10(workers)) / RESOLUTION)


@dataclass(frozen=True, eq=False)
class ConsistentGrouping(ArrayValue, PartitionerBase):
    """Spread rows evenly over virtual workers; workers that say they are idle get more of them.

    Each worker starts with `virtual` virtual workers (0: from the number of workers), filled level
    by the power of random choices. A busy worker that can be paired with an idle one hands it
    one; their number never changes, and rows already sent stay where they are. With `probing`, a
    worker that says busy again before it was paired hands one to a worker that is not busy, or if
    all are, to the one whose last busy signal is longest ago: without it, all is still as soon as
    nobody is idle, however busy the busy ones are. With `eager`, a worker that stays busy (or
    idle) gives (or takes) 1, 2, 4 ... virtual workers. With a `window` loads are halved after
    every so many rows, so that virtual workers are level in what came last. `owners`, the worker
    of each virtual worker, goes on from what was learned before.

    When: machines differ in speed, or change it, and partial results merge. Not without signals:
        then it is the power of random choices with more replicas.
    Cost: O(1) amortised time per row, O(workers * virtual) memory per source, no coordination.
    Paper: Nasir et al., Consistent Grouping, section IV; probing is in section V-A. `eager` and
        `window` are ours.

    >>> router = ConsistentGrouping(workers=2, virtual=10).router()
    >>> router.learn(WorkerReport(busy=np.array([0], np.int32), idle=np.array([1], np.int32)))
    >>> np.bincount(router.owners).tolist()
    [9, 11]
    """

    scheme: ClassVar[str] = "cg"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    virtual: int = 0
    epsilon: float = 0.01
    distinct: bool = True
    probing: bool = True
    eager: bool = True
    window: int = 0
    owners: WorkerIds = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_epsilon(self.epsilon)
        check_forgetting(self.window)
        if self.virtual == 0:
            object.__setattr__(self, "virtual", virtual_for(self.workers))
        object.__setattr__(self, "owners", frozen(self.owners, np.int32))
        if not 1 <= self.virtual * self.workers < 2**31:
            raise ParameterError(
                f"virtual={self.virtual} virtual workers per worker must be at least 1 (0: as many "
                f"as fit workers={self.workers}), and at most 2**31 - 1 for all of them"
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

    @property
    def feedback_settings(self) -> frozenset[str]:
        """How signals are answered."""
        return frozenset({"probing", "eager"})

    @property
    def without_feedback(self) -> str:
        """Nobody is busy or idle: no virtual worker moves."""
        return "porc over virtual workers"

    def forgetting(self) -> ConsistentGrouping:
        """The same with a window of a few rows per virtual worker: for machines that differ."""
        return replace(self, window=_ROWS_A_WINDOW * self.workers * self.virtual)

    def router(self, source: int = 0, sources: int = 1) -> ConsistentGroupingRouter:
        """Start the memory of one source: the load and the owner of each virtual worker."""
        return ConsistentGroupingRouter(
            RandomChoicesRouter.start(
                self.workers * self.virtual, self.epsilon, self.distinct, self.window
            ),
            owners=self.owners.copy() if self.owners.size else self._evenly(),
            probing=self.probing,
            eager=self.eager,
            stride=0 if self.owners.size else self.workers,
            quiet=dict.fromkeys(range(self.workers)),
        )

    def _evenly(self) -> WorkerIds:
        return np.tile(np.arange(self.workers, dtype=np.int32), self.virtual)


@dataclass(slots=True)
class ConsistentGroupingRouter:
    """One source's own map from virtual workers to workers, and the signals not yet paired.

    `busy` and `idle` are queues, first come first: how many virtual workers each still wants to
    give or take. `quiet` has all workers, first those whose last busy signal, or last gift for
    want of an idle worker, is longest ago.
    """

    choose: RandomChoicesRouter
    owners: WorkerIds
    probing: bool
    eager: bool
    stride: int
    """How far a worker's first virtual workers lie apart; 0 where they were given."""
    quiet: dict[int, None]
    busy: dict[int, int] = field(default_factory=dict)
    idle: dict[int, int] = field(default_factory=dict)
    streaks: Streaks = field(default_factory=lambda: Streaks())
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
            self.busy[worker] = self._wanted(worker, "busy")
            _to_the_end(worker, self.quiet)
        for worker in report.idle.tolist():
            self.busy.pop(worker, None)
            self.idle[worker] = self._wanted(worker, "idle")
        while self.busy and self.idle:
            self._pair(next(iter(self.busy)), next(iter(self.idle)))
        if self.probing:
            for giver in impatient:
                self._probe(giver)

    def _wanted(self, worker: int, signal: str) -> int:
        """How many virtual workers a signal moves: twice as many as the one before it did.

        No more than a tenth of the worker's own: from just above the busy threshold it would
        otherwise fall below the idle one.
        """
        times = self.streaks.add(worker, signal)
        if not self.eager:
            return 1
        return min(1 << min(times - 1, 30), max(1, len(self._virtual_workers(worker)) // 10))

    def _pair(self, giver: int, taker: int) -> None:
        if not self._can_give(giver):
            del self.busy[giver]
            return
        self._hand_over(giver, taker)
        _take_one(giver, self.busy)
        _take_one(taker, self.idle)

    def _probe(self, giver: int) -> None:
        """Let a worker that waited without a pair give one to a worker that is not busy.

        If all are, to the one that said so longest ago: nobody knows who has more to spare.
        """
        others = [worker for worker in self.quiet if worker != giver]
        if giver in self.busy and others and self._can_give(giver):
            del self.busy[giver]
            taker = next((worker for worker in others if worker not in self.busy), others[0])
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


@dataclass(slots=True)
class Streaks:
    """How often running each worker has sent the same signal.

    A worker signals at most once a slot, so a slot is over when somebody signals again.
    """

    slot: int = 0
    heard: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    """Worker -> its last slot, signal, and how often running."""

    def add(self, worker: int, signal: str) -> int:
        """How often running the worker has sent this signal, now included."""
        last, before, times = self.heard.get(worker, (-2, "", 0))
        if last == self.slot:
            self.slot += 1
        follows = before == signal and last >= self.slot - 1
        self.heard[worker] = (self.slot, signal, times + 1 if follows else 1)
        return self.heard[worker][2]


def _take_one(worker: int, queue: dict[int, int]) -> None:
    queue[worker] -= 1
    if not queue[worker]:
        del queue[worker]


def _to_the_end(worker: int, workers: dict[int, None]) -> None:
    del workers[worker]
    workers[worker] = None
