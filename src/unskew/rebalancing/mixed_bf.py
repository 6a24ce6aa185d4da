"""MixedBF: Mixed by brute force, with every number of entries moved back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.rebalancing.least_load import LeastLoadFit, LeastLoadPlanner, Trial
from unskew.rebalancing.mixed import smallest_table
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records


@dataclass(frozen=True, slots=True)
class MixedBruteForce(LeastLoadPlanner):
    """Mixed with every number of entries moved back; keeps the least migration that fits.

    When: to see what Mixed's shortcut costs. Not in production: one full trial per table entry.
    Cost: O(K log K + table * K) time, O(K) memory.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        section III-C (Mixed_BF).

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = MixedBruteForce(theta=0, table=2).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.table.keys.size
    ([5.0, 5.0], 2)
    """

    algorithm: ClassVar[str] = "mixed-bf"

    theta: float = 0.08
    table: int | None = 3000
    beta: float = 1.5
    r: int | None = None

    def plan(self, records: Records) -> Rebalance:
        """The trial of least migration among those whose table fits."""
        fit = LeastLoadFit.by_priority(records, records.assignment.limit(self.theta), self.beta)
        best, last = None, fit.attempt()
        for moved_back in range(records.entries + 1):
            last = fit.attempt(moved_back)
            fits = self.table is None or last.entries <= self.table
            if fits and (best is None or self._rank(last) < self._rank(best)):
                best = last
        chosen = best or smallest_table(last)
        return chosen.conclude(self.algorithm, self.theta, self.table)

    def _rank(self, trial: Trial) -> tuple[int, float]:
        return trial.forced, trial.migration
