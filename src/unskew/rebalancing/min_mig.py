"""MinMig: least migration; keeps the old table, moves the keys of most cost per state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.rebalancing.least_load import LeastLoadFit, LeastLoadPlanner
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records


@dataclass(frozen=True, slots=True)
class MinMig(LeastLoadPlanner):
    """Free overloaded workers of the keys with most cost^beta per state; never clean the table.

    When: state is large and the table may grow. Not over many rebalances: the table tends to hold
        (workers − 1)/workers of all keys.
    Cost: O(K log K + moved keys * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 3.

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3], cost=[4, 4, 4], memory=[9, 1, 9])  # home is worker 0
    >>> plan = MinMig(theta=0.5).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.migration.keys.tolist(), plan.migration.state
    ([2], 1.0)
    """

    algorithm: ClassVar[str] = "minmig"

    theta: float = 0.08
    beta: float = 1.5
    r: int | None = None

    def plan(self, records: Records) -> Rebalance:
        """Least-load fit by priority, on the table as it is."""
        trial = LeastLoadFit.by_priority(
            records, records.assignment.limit(self.theta), self.beta
        ).attempt()
        return trial.conclude(self.algorithm, self.theta, None)
