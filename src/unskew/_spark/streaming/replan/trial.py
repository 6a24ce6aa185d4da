"""Which way a replanned stream takes when its workers prove unequal: it tries, and keeps the best.

A worker is slow because its machine is, or because its rows cost more, and nothing in a batch tells
which. Small tasks help against both, at the price of starting them; virtual workers on machines of
their own help against the first, at the price of waiting for those machines.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from unskew._spark.streaming.replan.partial_store import KeyCounts
from unskew._spark.streaming.replan.planners import (
    BatchPlanner,
    Outcome,
    SplitPlanner,
    VirtualWorkers,
)
from unskew.partitioners import Partitioner

logger = logging.getLogger(__name__)

SMALLER = 5
"""Tasks for each slot, where tasks are to be small."""

UNEQUAL = 1.5
"""How much longer than the middling worker the slowest may take for a row."""

WORSE = 1.5
"""How much longer than in its trial a row may take before all ways are tried again."""

TRIAL = 3
"""Batches by which a way is judged; the first of them, from which it learns, does not count."""


@dataclass(frozen=True, slots=True)
class Way:
    """A planner, and what to call it."""

    name: str
    planner: BatchPlanner


@dataclass(slots=True)
class Choosing:
    """A planned split, until workers are unequal in two batches running; then what takes least."""

    ways: Sequence[Way]
    _place: int = field(default=0, init=False)
    _strikes: int = field(default=0, init=False)
    """Batches in a row that gave reason to try."""
    _trials: list[list[float]] = field(default_factory=list, init=False)
    """Seconds a row in the batches of each way tried so far; empty while nothing is tried."""
    _chosen: float | None = field(default=None, init=False)
    """Seconds a row in the trial of the way that was chosen."""

    @classmethod
    def of(cls, workers: int) -> Choosing:
        """Three ways to spread rows on so many slots."""
        small = SMALLER * workers
        return cls(
            (
                Way("planned split, a task per slot", SplitPlanner(workers)),
                Way(f"planned split, {SMALLER} tasks per slot", SplitPlanner(small)),
                Way("consistent grouping, told times", VirtualWorkers.of(workers)),
            )
        )

    @property
    def now(self) -> Way:
        """The way that the next batch takes."""
        return self.ways[self._place]

    @property
    def workers(self) -> int:
        """Of the way taken now."""
        return self.now.planner.workers

    @property
    def pinned(self) -> bool:
        """Of the way taken now."""
        return self.now.planner.pinned

    @property
    def table_size(self) -> int:
        """Of the way taken now."""
        return self.now.planner.table_size

    def partitioner(self) -> Partitioner:
        """Of the way taken now."""
        return self.now.planner.partitioner()

    def learn(self, outcome: Outcome, counts: Callable[[], KeyCounts]) -> None:
        """Judge the way taken by what the batch took, and go on to the next if it is tried."""
        self.now.planner.learn(outcome, counts)
        per_row = outcome.took / max(outcome.loads.sum(), 1.0)
        if self._trials:
            self._try(per_row)
            return
        reason = _unequal(outcome) if self._chosen is None else per_row > WORSE * self._chosen
        self._strikes = self._strikes + 1 if reason else 0
        if self._strikes == 2:
            logger.info("workers are unequal, or slower than they were: trying %d ways",
                        len(self.ways))  # fmt: skip
            self._place, self._strikes, self._trials = 0, 0, [[]]

    def _try(self, per_row: float) -> None:
        self._trials[-1].append(per_row)
        if len(self._trials[-1]) < TRIAL:
            return
        if len(self._trials) < len(self.ways):
            self._place += 1
            self._trials.append([])
            return
        took = [min(each[1:]) for each in self._trials]
        self._place = int(np.argmin(took))
        self._chosen, self._trials = took[self._place], []
        told = ", ".join(
            f"{way.name} {each:.2g}" for way, each in zip(self.ways, took, strict=True)
        )
        logger.info("chose %s; seconds a row: %s", self.now.name, told)


def _unequal(outcome: Outcome) -> bool:
    """Whether the slowest worker took much longer for a row than the middling one."""
    busy = outcome.loads > 0
    each = outcome.seconds[busy] / outcome.loads[busy]
    return bool(each.max() > UNEQUAL * np.median(each))
