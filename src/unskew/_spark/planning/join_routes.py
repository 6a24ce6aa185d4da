"""Routes of both sides of a join: by a scheme that was named, or with hot keys split."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.join import SideRoute
from unskew._spark.planning.join_kinds import JoinKind
from unskew._spark.planning.join_work import JoinKeys
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.routing.route import Route
from unskew.partitioners import PlannedSplit
from unskew.partitioners.split_planning import plan_split
from unskew.partitioners.static import SplitTable


class SplitSides(NamedTuple):
    """A table of hot keys, and how both sides go by it."""

    table: SplitTable
    left: SideRoute
    right: SideRoute

    def __str__(self) -> str:
        return (
            f"{self.table.keys.size} keys are planned, {self.right.copied.keys.size} split on the "
            f"left and {self.left.copied.keys.size} on the right"
        )


def split_sides(
    keys: JoinKeys, seconds: Seconds, rest: Seconds, kind: JoinKind, settings: PlanSettings
) -> SplitSides:
    """Level workers: a key that is cut is split on the side that has more rows of it."""
    table = plan_split(keys.keys, seconds, rest, **settings.of_planners)
    entry = np.searchsorted(keys.keys, table.keys)
    # Of a side that only filters, each key is one row.
    by_left = (keys.left >= keys.right)[entry] | kind.only_filters
    cut = table.parts > 1
    return SplitSides(
        table,
        _side(rest.size, table, copied=cut & ~by_left),
        _side(rest.size, table, copied=cut & by_left),
    )


def _side(workers: int, table: SplitTable, copied: NDArray[np.bool_]) -> SideRoute:
    kept = table.entries(np.flatnonzero(~copied))
    return SideRoute(
        Route.of(PlannedSplit.of(workers, kept)), table.entries(np.flatnonzero(copied))
    )
