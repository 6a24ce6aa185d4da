"""MinTable: smallest table; drops the old one, then moves the heaviest keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.rebalancing.least_load import LeastLoadFit, LeastLoadPlanner
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records


@dataclass(frozen=True, slots=True)
class MinTable(LeastLoadPlanner):
    """Move every key back to where its hash sends it, then free overloaded workers, heaviest first.

    When: the table must stay small and state is cheap to move. Not when state is large: keys that
        go back home, and out again, migrate for nothing.
    Cost: O(K log K + moved keys * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 2.

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = MinTable(theta=0).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.table.keys.size
    ([5.0, 5.0], 2)
    """

    algorithm: ClassVar[str] = "mintable"

    theta: float = 0.08
    table: int | None = 3000
    r: int | None = None

    def plan(self, records: Records) -> Rebalance:
        """Least-load fit after every entry was moved back."""
        trial = LeastLoadFit.by_cost(records, records.assignment.limit(self.theta)).attempt(
            moved_back=records.entries
        )
        return trial.conclude(self.algorithm, self.theta, self.table)
