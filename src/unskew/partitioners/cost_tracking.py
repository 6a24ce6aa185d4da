"""A worker's side of scheduling by cost: learn until costs are stable, send them, start over."""

from __future__ import annotations

import enum

import numpy as np

from unskew.errors import ParameterError
from unskew.kernels.cost_pair import Floats
from unskew.kernels.proactive import TRACKING, Tracker, execute_until_stable, reset
from unskew.partitioners.contract import KeyHashes
from unskew.partitioners.cost_messages import StableCosts, TimeReply, TimeRequest
from unskew.sketches.cost_pair import CostPair, CostShape


class TrackerState(enum.IntEnum):
    """The states of a worker."""

    START = 0
    """Fewer than a window of rows executed since the matrices were empty."""
    STABILIZING = 1
    """Comparing the matrices with the last snapshot, once a window."""


class CostTracker:
    """One worker's matrices and its clock.

    Every `window` rows it compares each cell's mean cost with the last snapshot. Cells that moved
    by no more than `tolerance` in all are sent to the sources and forgotten.

    Cost: O(log 1/delta) time per row, three matrices of memory.
    Paper: Proactive Online Shuffle Grouping, section III-B and figure 2.

    >>> tracker = CostTracker(worker=0, window=2, tolerance=0.05, shape=CostShape())
    >>> keys, costs = np.array([1, 2, 1, 2], dtype=np.uint64), np.array([5.0, 1.0, 5.0, 1.0])
    >>> [message.pair.mean for message in tracker.execute(keys, costs)]
    [3.0]
    """

    def __init__(self, worker: int, window: int, tolerance: float, shape: CostShape) -> None:
        check_window(window, tolerance)
        size = (shape.rows, shape.columns)
        self.worker = worker
        self.window = window
        self.tolerance = tolerance
        self.shape = shape
        self.memory = Tracker(
            counts=np.zeros(size, dtype=np.int64),
            costs=np.zeros(size),
            snapshot=np.zeros(size),
            state=np.zeros(2, dtype=np.int64),
            spent=np.zeros(1),
            words=shape.words(),
        )

    @property
    def state(self) -> TrackerState:
        """The current state of the worker."""
        return TrackerState(int(self.memory.state[TRACKING]))

    @property
    def spent(self) -> float:
        """All the time that the worker has spent on rows."""
        return float(self.memory.spent[0])

    def execute(self, keys: KeyHashes, costs: Floats) -> list[StableCosts]:
        """Learn the costs of executed rows; return the matrices that became stable."""
        sent = []
        while keys.size:
            done = execute_until_stable(keys, costs, self.window, self.tolerance, self.memory)
            if done < 0:
                pair = CostPair(self.shape, self.memory.counts, self.memory.costs)
                sent.append(StableCosts(self.worker, pair))
                reset(self.memory)
            keys, costs = keys[abs(done) :], costs[abs(done) :]
        return sent

    def reply(self, request: TimeRequest, now: float | None = None) -> TimeReply:
        """Answer a request, right after the row that carried it was executed.

        With `now`, the time since the source began, the answer is to the scheme's clock
        `"finish"`; without, to `"spent"`.
        """
        clock = self.spent if now is None else now
        return TimeReply(self.worker, request.epoch, clock - request.estimate)


def check_window(window: int, tolerance: float) -> None:
    """Raise unless window >= 1 and tolerance >= 0."""
    if window < 1:
        raise ParameterError(f"window={window} must be at least 1 row")
    if not tolerance >= 0:
        raise ParameterError(f"tolerance={tolerance} is below 0; 0.05 lets cells move by 5 %")
