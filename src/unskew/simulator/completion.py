"""How long each row takes from its arrival until it is done, when rows differ in cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.errors import ParameterError
from unskew.kernels import KeyHashes, WorkerIds
from unskew.kernels.completion import (
    MATRICES,
    REPLIES,
    finish_times,
    run_proactive,
)
from unskew.kernels.cost_pair import Floats
from unskew.kernels.proactive import ROUND_ROBIN, RUN, Tracker
from unskew.partitioners import Partitioner, Proactive


@dataclass(frozen=True, eq=False, slots=True)
class CostlyRows:
    """Rows in order of arrival, with what each costs on a worker of factor 1.

    From row `changes[p - 1]` on, worker w takes `factors[p, w]` times as long; `factors[0]` holds
    before. No factors: all workers are alike.
    """

    keys: KeyHashes
    costs: Floats
    arrivals: Floats
    factors: Floats | None = None
    changes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        sizes = {self.keys.size, self.costs.size, self.arrivals.size}
        if len(sizes) != 1:
            raise ParameterError(f"keys, costs and arrivals have different lengths: {sizes}")
        if self.arrivals.size and (np.diff(self.arrivals) < 0).any():
            raise ParameterError("arrivals must be in ascending order; sort the rows by arrival")
        if len(self.changes) != (0 if self.factors is None else self.factors.shape[0] - 1):
            raise ParameterError("factors must have one row more than there are changes")

    @classmethod
    def at_rate(
        cls, keys: KeyHashes, costs: Floats, workers: int, provisioning: float = 1.0
    ) -> CostlyRows:
        """Rows at a steady rate: `provisioning` times the time that all workers need for one."""
        gap = provisioning * float(costs.mean()) / workers if costs.size else 0.0
        return cls(keys, costs, np.arange(keys.size, dtype=np.float64) * gap)

    def phases(self) -> NDArray[np.int32]:
        """Which row of factors holds for each row."""
        rows = np.arange(self.keys.size)
        return np.searchsorted(np.array(self.changes), rows, side="right").astype(np.int32)

    def factors_for(self, workers: int) -> Floats:
        """The factors, one column for each worker."""
        if self.factors is None:
            return np.ones((1, workers))
        if self.factors.shape[1] != workers:
            raise ParameterError(
                f"{self.factors.shape[1]} factors for {workers} workers; give one each"
            )
        return self.factors


@dataclass(frozen=True, eq=False, slots=True)
class Completion:
    """When and where each row was done."""

    workers: WorkerIds
    finish: Floats
    times: Floats
    """From arrival to done, waiting included."""
    messages: int = 0
    """Messages between sources and workers besides the rows: matrices and replies.

    Requests travel with rows, as the paper counts them (theorem 3.3).
    """
    left: int | None = None
    """The first row that a proactive source did not deal round robin for want of costs."""
    started: int | None = None
    """The first row that it scheduled with corrected estimates."""
    heard: NDArray[np.int64] | None = None
    """The rows before which a proactive source heard new matrices."""

    @property
    def mean(self) -> float:
        """The mean completion time."""
        return float(self.times.mean()) if self.times.size else 0.0

    @property
    def makespan(self) -> float:
        """When the last row is done."""
        return float(self.finish.max(initial=0.0))


def complete(partitioner: Partitioner, rows: CostlyRows) -> Completion:
    """Route rows as they arrive and serve them, first come first served.

    Messages take no time. Memory is a few numbers per row.

    >>> from unskew.partitioners import ShuffleGrouping
    >>> a, b = 1, 2
    >>> keys = np.array([a, b, a], dtype=np.uint64)
    >>> rows = CostlyRows(keys, costs=np.array([10.0, 1.0, 10.0]), arrivals=np.arange(3.0))
    >>> complete(ShuffleGrouping(workers=2), rows).times.sum()
    np.float64(29.0)
    """
    if isinstance(partitioner, Proactive):
        return _complete_proactively(partitioner, rows)
    workers = partitioner.router().route(rows.keys)
    finish = np.empty(rows.keys.size)
    factors = rows.factors_for(partitioner.workers)
    finish_times(rows.arrivals, rows.costs, factors, rows.phases(), workers, finish)
    return Completion(workers, finish, finish - rows.arrivals)


def _complete_proactively(posg: Proactive, rows: CostlyRows) -> Completion:
    size = rows.keys.size
    workers, finish = np.empty(size, dtype=np.int32), np.empty(size)
    states, heard = np.empty(size, dtype=np.int8), np.zeros(size, dtype=np.bool_)
    messages = np.zeros(3, dtype=np.int64)
    run_proactive(
        rows.keys,
        rows.arrivals,
        rows.costs,
        rows.factors_for(posg.workers),
        rows.phases(),
        posg.window,
        posg.tolerance,
        posg.clock == "finish",
        posg.router().memory,
        _trackers(posg),
        workers,
        finish,
        states,
        heard,
        messages,
    )
    return Completion(
        workers,
        finish,
        finish - rows.arrivals,
        messages=int(messages[[MATRICES, REPLIES]].sum()),
        left=_first(states != ROUND_ROBIN),
        started=_first(states == RUN),
        heard=np.flatnonzero(heard),
    )


def _first(rows: NDArray[np.bool_]) -> int | None:
    return int(rows.argmax()) if rows.any() else None


def _trackers(posg: Proactive) -> Tracker:
    """The memories of all workers in one, worker by worker."""
    size = (posg.workers, posg.shape.rows, posg.shape.columns)
    return Tracker(
        counts=np.zeros(size, dtype=np.int64),
        costs=np.zeros(size),
        snapshot=np.zeros(size),
        state=np.zeros((posg.workers, 2), dtype=np.int64),
        spent=np.zeros((posg.workers, 1)),
        words=posg.shape.words(),
    )
