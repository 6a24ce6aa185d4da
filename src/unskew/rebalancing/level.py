"""Level, our own planner: moves only the excess off each overloaded worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.assignment import Assignment
from unskew.rebalancing.least_load import check_table, check_theta
from unskew.rebalancing.level_search import Candidate, LevelSearch
from unskew.rebalancing.rebalance import Rebalance, Stop
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class Level:
    """Move only the excess off each overloaded worker; the result states its gap to the bound.

    No assignment of whole keys has a maximum load below max(mean, heaviest key). Keys move until
    every worker is within 1 + theta of the mean (or close to the heaviest key, if that is higher):
    the most cost for its price first, where the price of a move is the key's state plus what a
    table entry is worth, and only keys that fit into what is left of the excess. If the table
    overflows, entries of least state go home and entries get dearer, so that fewer and heavier keys
    move. Exchanges, least-load fit and a fresh start help where keys are so few that nothing fits.

    When: whole keys, always. If one key alone is above the limit no planner helps; it says so.
    Cost: O(K + k log k) time for k keys on overloaded workers, O(K) memory.
    Paper: none; compare Mixed (paper 002) and readj (paper 004).

    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Level(theta=0).rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist(), plan.gap, plan.migration.state
    ([5.0, 5.0], 0.0, 5.0)
    """

    algorithm: ClassVar[str] = "level"

    theta: float = 0.08
    table: int | None = 3000

    def __post_init__(self) -> None:
        check_fields(self)
        check_theta(self.theta)
        check_table(self.table)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        assignment = Assignment.of(keys, current, workers)
        limits = self._limits(assignment)
        small = self.table is None or current.keys.size <= self.table
        level = bool(assignment.loads_before.max() <= limits[0] * (1 + 1e-9))
        if level and small and current.workers == workers:
            return assignment.unchanged(self.algorithm)
        for limit in limits:
            found = LevelSearch(assignment, limit, self.table).best()
            if not found.cut:
                break
        rows = np.flatnonzero(found.owner != assignment.start)
        return assignment.conclude(
            self.algorithm, rows, found.owner[rows], stop=self._stop(assignment, found, limits[0]),
            table=self.table, remarks=self._remarks(assignment),
        )  # fmt: skip

    def _limits(self, assignment: Assignment) -> list[float]:
        """Load limits to try; if one key alone exceeds the limit, increasingly wide ones."""
        heaviest, allowed = assignment.keys.heaviest, assignment.limit(self.theta)
        if heaviest <= allowed:
            return [allowed]
        return [heaviest * (1 + self.theta * width) for width in (1 / 8, 1 / 2, 2)]

    def _stop(self, assignment: Assignment, found: Candidate, limit: float) -> Stop:
        if assignment.keys.heaviest > assignment.limit(self.theta):
            return Stop.HEAVY_KEY
        if found.top <= limit * (1 + 1e-9):
            return Stop.LEVEL
        return Stop.TABLE_FULL if found.cut else Stop.DONE

    def _remarks(self, assignment: Assignment) -> tuple[str, ...]:
        heaviest, allowed = assignment.keys.heaviest, assignment.limit(self.theta)
        if heaviest <= allowed:
            return ()
        key = assignment.keys.keys[int(np.argmax(assignment.keys.cost))]
        return (
            f"key {key} alone is {heaviest / assignment.mean:.2f} times the mean load, where "
            f"{1 + self.theta:.2f} are allowed: split it and merge the parts, or give its worker "
            f"{heaviest / allowed:.2f} times the capacity",
        )
