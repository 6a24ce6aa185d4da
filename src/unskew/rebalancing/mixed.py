"""Mixed: least migration whose table fits; moves back only as many entries as needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.rebalancing.least_load import LeastLoadFit, LeastLoadPlanner, Trial
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.records import Records


@dataclass(frozen=True, slots=True)
class Mixed(LeastLoadPlanner):
    """Move the entries of least state back home, few at first and more until the table fits.

    Between trials the number of entries moved back grows by the entries that were too many, and
    by at least a quarter, so there are O(log table) trials. If moving all back is not enough the
    result is MinTable's, and says that the table is too small for the balance.

    When: whole keys, state that is costly to move, a bounded table. `Level` does better.
    Cost: O(K log K + trials * K) time, O(K) memory; with `r` K is the number of distinct records.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        algorithm 4.

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Mixed(theta=0, table=2).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.table.keys.size
    ([5.0, 5.0], 2)
    """

    algorithm: ClassVar[str] = "mixed"

    theta: float = 0.08
    table: int | None = 3000
    beta: float = 1.5
    r: int | None = None

    def plan(self, records: Records) -> Rebalance:
        """The first trial whose table fits."""
        fit = LeastLoadFit.by_priority(records, records.assignment.limit(self.theta), self.beta)
        return fitting_table(fit, self.table).conclude(self.algorithm, self.theta, self.table)


def fitting_table(fit: LeastLoadFit, table: int | None) -> Trial:
    """The first trial whose table fits, with more and more entries moved back."""
    moved_back, most = 0, fit.records.entries
    while True:
        trial = fit.attempt(moved_back)
        excess = 0 if table is None else trial.entries - table
        if excess <= 0:
            return trial
        if moved_back == most:
            return smallest_table(trial)
        moved_back = min(most, moved_back + max(excess, moved_back // 4))


def smallest_table(trial: Trial) -> Trial:
    """If no number of entries moved back fits: MinTable's trial, or `trial` if smaller."""
    records = trial.fit.records
    cleaned = LeastLoadFit.by_cost(records, trial.fit.limit).attempt(moved_back=records.entries)
    return cleaned if cleaned.entries < trial.entries else trial
