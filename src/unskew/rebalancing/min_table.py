"""The smallest table: forget the old one, then move the heaviest keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.least_load import LeastLoadFit, check_degree, check_table, check_theta
from unskew.rebalancing.outset import Outset
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class MinTable:
    """Move every key back to where its hash sends it, then free overloaded workers, heaviest first.

    When: the table must stay small and state is cheap to move. Not when state is large: keys that
        go back home, and out again, migrate for nothing.
    Cost: O(K log K + moved keys * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 2.

    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = MinTable(theta=0).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.table.keys.size
    ([5.0, 5.0], 2)
    """

    algorithm: ClassVar[str] = "mintable"

    theta: float = 0.08
    table: int | None = 3000
    r: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_theta(self.theta)
        check_table(self.table)
        check_degree(self.r)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        outset = Outset.of(keys, current, workers)
        if outset.settled(self.theta, self.table):
            return outset.unchanged(self.algorithm)
        return self.plan(Records.of(outset, self.r))

    def plan(self, records: Records) -> Rebalance:
        """Plan on records that are at hand."""
        trial = LeastLoadFit.by_cost(records, records.outset.limit(self.theta)).attempt(
            moved_back=records.entries
        )
        return trial.conclude(self.algorithm, self.theta, self.table)
