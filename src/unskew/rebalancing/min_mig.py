"""The smallest migration: keep the old table, move the keys of most cost per state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.least_load import LeastLoadFit, check_beta, check_degree, check_theta
from unskew.rebalancing.outset import Outset
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class MinMig:
    """Free overloaded workers of the keys with most cost^beta per state; never clean the table.

    When: state is large and the table may grow. Not over many rebalances: the table tends to hold
        (workers − 1)/workers of all keys.
    Cost: O(K log K + moved keys * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 3.

    >>> keys = KeyStatistics.of([1, 2, 3], cost=[4, 4, 4], memory=[9, 1, 9])  # home is worker 0
    >>> plan = MinMig(theta=0.5).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.migration.keys.tolist(), plan.migration.state
    ([2], 1.0)
    """

    algorithm: ClassVar[str] = "minmig"

    theta: float = 0.08
    beta: float = 1.5
    r: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_theta(self.theta)
        check_beta(self.beta)
        check_degree(self.r)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        outset = Outset.of(keys, current, workers)
        if outset.settled(self.theta, None):
            return outset.unchanged(self.algorithm)
        return self.plan(Records.of(outset, self.r))

    def plan(self, records: Records) -> Rebalance:
        """Plan on records that are at hand."""
        trial = LeastLoadFit.by_priority(
            records, records.outset.limit(self.theta), self.beta
        ).attempt()
        return trial.conclude(self.algorithm, self.theta, None)
