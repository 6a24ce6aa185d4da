"""LLFD: least-load fit decreasing, without control of table or migration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.rebalancing.least_load import LeastLoadFit, LeastLoadPlanner
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records


@dataclass(frozen=True, slots=True)
class LeastLoadFitDecreasing(LeastLoadPlanner):
    """Take the heaviest keys off overloaded workers, give each to the least loaded that fits.

    A worker that would be overloaded by a key may exchange it for lighter keys of its own, which
    are then placed in turn.

    When: the balance is all that counts. It controls neither the table nor the migration.
    Cost: O(K log K + moved keys * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 1.

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = LeastLoadFitDecreasing(theta=0).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.migration.state
    ([5.0, 5.0], 5.0)
    """

    algorithm: ClassVar[str] = "llfd"

    theta: float = 0.08
    r: int | None = None

    def plan(self, records: Records) -> Rebalance:
        """Least-load fit on the table as it is."""
        trial = LeastLoadFit.by_cost(records, records.assignment.limit(self.theta)).attempt()
        return trial.conclude(self.algorithm, self.theta, None)
