"""Least-load fit decreasing, on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.least_load import LeastLoadFit, check_degree, check_theta
from unskew.rebalancing.outset import Outset
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class LeastLoadFitDecreasing:
    """Take the heaviest keys off overloaded workers, give each to the least loaded that fits.

    A worker that would be overloaded by a key may exchange it for lighter keys of its own, which
    are then placed in turn.

    When: the balance is all that counts. It controls neither the table nor the migration.
    Cost: O(K log K + moved keys * workers) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 1.

    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = LeastLoadFitDecreasing(theta=0).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.migration.state
    ([5.0, 5.0], 5.0)
    """

    algorithm: ClassVar[str] = "llfd"

    theta: float = 0.08
    r: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_theta(self.theta)
        check_degree(self.r)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        outset = Outset.of(keys, current, workers)
        if outset.settled(self.theta, None):
            return outset.unchanged(self.algorithm)
        return self.plan(Records.of(outset, self.r))

    def plan(self, records: Records) -> Rebalance:
        """Plan on records that are at hand."""
        trial = LeastLoadFit.by_cost(records, records.outset.limit(self.theta)).attempt()
        return trial.conclude(self.algorithm, self.theta, None)
