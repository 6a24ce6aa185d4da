"""Does scheduling by cost pay? A forecast of the last task's end, with and without."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from unskew._spark.costs.samples import JobCosts
from unskew.kernels.cost_pair import Floats
from unskew.sketches.cost_pair import CostPair

EXPLAINED = 0.05
"""Below this share of explained variance the key says nothing about the cost."""

_SHUFFLE = 0.3  # Seconds that one more stage takes, whatever its size.
_PER_ROW = 4e-6  # Seconds to route, write and read a row of ordinary width.
_GAIN = 0.97  # A forecast is no promise: only a clear gain is worth a shuffle.


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to schedule by cost, and why, in one sentence."""

    pays: bool
    why: str


def explained(costs: JobCosts) -> float:
    """The share of the cost's variance that the key explains: learned on every second sample,
    tried on the others, so that content seen once does not explain itself."""
    if costs.keys.size < 8:
        return 0.0
    pair = CostPair(costs.pair.shape)
    pair.add(np.ascontiguousarray(costs.keys[::2]), np.ascontiguousarray(costs.seconds[::2]))
    keys, seconds = np.ascontiguousarray(costs.keys[1::2]), costs.seconds[1::2]
    spread = float(seconds.var())
    if spread == 0.0:
        return 0.0
    return max(0.0, 1 - float(np.mean((seconds - pair.estimate(keys)) ** 2)) / spread)


def judge(costs: JobCosts, workers: int, times: float = 1.0) -> Verdict:
    """Whether the next rows, `times` as many as were seen, should be scheduled by cost.

    Left alone, Spark starts a task per input partition, the next one where a slot gets free.
    """
    if not costs.rows or not costs.keys.size:
        return Verdict(False, "no rows were timed, so nothing is known about their costs")
    share = explained(costs)
    if share < EXPLAINED:
        return Verdict(
            False,
            f"the cost does not depend on the key: it explains {share:.0%} of the variance of "
            f"{costs.keys.size} timed rows",
        )
    alone = makespan(costs.loads * times, workers)
    level = float(costs.loads.sum()) * times / workers
    rows = costs.rows * times
    left = float(costs.seconds.std()) * math.sqrt((1 - share) * rows / workers)
    scheduled = level + left * math.sqrt(2 * math.log(max(workers, 1)))
    scheduled += _SHUFFLE + _PER_ROW * rows / workers
    figures = (
        f"{scheduled:.2g} s scheduled by cost, shuffle included, against {alone:.2g} s for the "
        f"{costs.loads.size} partitions as they are on {workers} slots; the key explains "
        f"{share:.0%} of the variance"
    )
    if scheduled > _GAIN * alone:
        return Verdict(False, f"the input's partitions do as well: {figures}")
    return Verdict(True, f"forecast: {figures}")


def makespan(loads: Floats, slots: int) -> float:
    """When the last task ends if tasks start in order, each on the first free slot.

    >>> makespan(np.array([3.0, 1.0, 1.0, 1.0]), slots=2)
    3.0
    """
    free = [0.0] * slots
    for load in loads.tolist():
        heapq.heappushpop(free, free[0] + load)
    return max(free)
