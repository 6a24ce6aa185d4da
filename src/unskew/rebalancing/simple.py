"""Simple: every key from scratch, heaviest first, to the least loaded worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.least_load_fit import give_heaviest_to_least_loaded
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.assignment import Assignment
from unskew.rebalancing.least_load import check_theta
from unskew.rebalancing.rebalance import Rebalance, Stop
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class Simple:
    """Ignore where keys are; give each, heaviest first, to the least loaded worker.

    When: as a yardstick for the balance. Its maximum load is at most 4/3 − 1/(3 workers)
        of the best one, but nearly every key moves and nearly every key needs an entry.
    Cost: O(K log K + K * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 5; Graham's longest processing time first.

    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Simple(theta=0).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.table.keys.size
    ([5.0, 5.0], 2)
    """

    algorithm: ClassVar[str] = "simple"

    theta: float = 0.08

    def __post_init__(self) -> None:
        check_fields(self)
        check_theta(self.theta)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        assignment = Assignment.of(keys, current, workers)
        if assignment.settled(self.theta, None):
            return assignment.unchanged(self.algorithm)
        owner = np.empty(keys.size, dtype=np.int32)
        loads = keys.rest_of(workers)
        give_heaviest_to_least_loaded(keys.cost, np.argsort(-keys.cost), loads, owner)
        level = loads.max() <= assignment.limit(self.theta)
        return assignment.conclude(
            self.algorithm, np.arange(keys.size), owner, stop=Stop.LEVEL if level else Stop.DONE
        )
