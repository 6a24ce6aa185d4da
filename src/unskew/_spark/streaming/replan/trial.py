"""Trials of several strategies when the workers of a replanned stream prove unequal.

A worker is slow because its machine is, or because its rows cost more, and nothing in a batch tells
which. Small tasks help against both, at the price of starting them; virtual workers on machines of
their own help against the first, at the price of waiting for those machines.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from unskew._spark.streaming.replan.partial_store import BatchKeys
from unskew._spark.streaming.replan.planners import (
    BatchOutcome,
    BatchPlanner,
    SplitPlanner,
    VirtualWorkers,
)
from unskew.partitioners import Partitioner

logger = logging.getLogger(__name__)

SMALLER = 5
"""Tasks for each slot, where tasks are to be small."""

UNEQUAL = 1.5
"""How much longer per row than the median worker the slowest may take."""

WORSE = 1.5
"""How much longer than in its trial a row may take before all strategies are tried again."""

TRIAL = 3
"""Batches per strategy in a trial; the first of them, from which it learns, does not count."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A planner and its name."""

    name: str
    planner: BatchPlanner


@dataclass(slots=True)
class BestOfTrials:
    """The first strategy, until workers are unequal in two batches running; then the fastest."""

    strategies: Sequence[Strategy]
    _place: int = field(default=0, init=False)
    _strikes: int = field(default=0, init=False)
    """Batches in a row that gave reason for a trial."""
    _trials: list[list[float]] = field(default_factory=list, init=False)
    """Seconds per row in the batches of each strategy so far; empty outside a trial."""
    _chosen: float | None = field(default=None, init=False)
    """Seconds per row in the trial of the chosen strategy."""

    @classmethod
    def of(cls, workers: int) -> BestOfTrials:
        """The strategies for `workers` slots."""
        small = SMALLER * workers
        return cls(
            (
                Strategy("planned split, a task per slot", SplitPlanner(workers)),
                Strategy(f"planned split, {SMALLER} tasks per slot", SplitPlanner(small)),
                Strategy("consistent grouping by measured times", VirtualWorkers.of(workers)),
            )
        )

    @property
    def now(self) -> Strategy:
        """The strategy of the next batch."""
        return self.strategies[self._place]

    @property
    def workers(self) -> int:
        """Of the current strategy."""
        return self.now.planner.workers

    @property
    def pinned(self) -> bool:
        """Of the current strategy."""
        return self.now.planner.pinned

    @property
    def table_size(self) -> int:
        """Of the current strategy."""
        return self.now.planner.table_size

    def partitioner(self) -> Partitioner:
        """Of the current strategy."""
        return self.now.planner.partitioner()

    def learn(self, outcome: BatchOutcome, counts: Callable[[], BatchKeys]) -> None:
        """Learn from a batch; in a trial, switch to the next strategy after `TRIAL` batches."""
        self.now.planner.learn(outcome, counts)
        per_row = outcome.took / max(outcome.loads.sum(), 1.0)
        if self._trials:
            self._try(per_row)
            return
        reason = _unequal(outcome) if self._chosen is None else per_row > WORSE * self._chosen
        self._strikes = self._strikes + 1 if reason else 0
        if self._strikes == 2:
            logger.info("workers are unequal, or slower than before: trying %d strategies",
                        len(self.strategies))  # fmt: skip
            self._place, self._strikes, self._trials = 0, 0, [[]]

    def _try(self, per_row: float) -> None:
        self._trials[-1].append(per_row)
        if len(self._trials[-1]) < TRIAL:
            return
        if len(self._trials) < len(self.strategies):
            self._place += 1
            self._trials.append([])
            return
        took = [min(each[1:]) for each in self._trials]
        self._place = int(np.argmin(took))
        self._chosen, self._trials = took[self._place], []
        told = ", ".join(
            f"{each.name} {seconds:.2g}"
            for each, seconds in zip(self.strategies, took, strict=True)
        )
        logger.info("chose %s; seconds per row: %s", self.now.name, told)


def _unequal(outcome: BatchOutcome) -> bool:
    """Whether the slowest worker took much longer per row than the median worker."""
    busy = outcome.loads > 0
    each = outcome.seconds[busy] / outcome.loads[busy]
    return bool(each.max() > UNEQUAL * np.median(each))
