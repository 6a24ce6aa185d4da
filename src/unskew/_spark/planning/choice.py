"""The choice of a scheme from key statistics, with the reason, and of the way it runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.physical_plan import is_replayable
from unskew._spark.planning.forecast import Forecast, forecast
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.routing.route import Draw, Route
from unskew.partitioners import (
    KeyGrouping,
    Need,
    Partitioner,
    PlannedSplit,
    RoutingTable,
    need_of,
    scheme_named,
)
from unskew.partitioners.serialization import build
from unskew.partitioners.split_planning import plan_split
from unskew.partitioners.whole_planning import plan_whole_keys

GOOD_ENOUGH = 1.05
"""Key grouping with a maximum below this times the mean is left alone."""

LISTED = 5
"""So many keys of a table are told."""

_DRAW_COST = 0.015
"""How much imbalance drawing parts by hash may add before each task counts its rows instead."""


class Choice(NamedTuple):
    """A partitioner, and the reason for it in words."""

    partitioner: Partitioner
    why: str
    plain: bool = False
    """Whether plain Spark is as good."""


def choose(profile: KeyProfile, need: Need, scheme: str, settings: PlanSettings) -> Choice:
    """The named scheme, or with "auto" the one that suits the need and the skew."""
    if scheme != "auto":
        return Choice(_named(profile, scheme, settings), "requested")
    capacities = settings.capacities
    hashed = forecast(profile, KeyGrouping(profile.workers), capacities).max_over_mean
    if hashed <= GOOD_ENOUGH and capacities is None:
        why = (
            f"hashing gives no worker more than {hashed:.3f} times the mean: plain Spark is as good"
        )
        return Choice(KeyGrouping(profile.workers), why, plain=True)
    if need is Need.WHOLE_KEY:
        return _whole(profile, settings, hashed)
    split = _planned_split(profile, settings)
    why = (
        f"hashing would give one worker {hashed:.2f} times the mean; "
        f"{split.keys.size} planned keys with {split.owners.size - split.keys.size} cuts level it"
    )
    return Choice(split, why)


def route_for(
    rows: DataFrame,
    key: KeyColumns,
    profile: KeyProfile,
    partitioner: Partitioner,
    capacities: NDArray[np.float64] | None,
) -> tuple[Route, Forecast]:
    """Native where possible, unless drawing parts by hash would raise max/mean by over 1.5 %.

    Then each task counts its rows instead, if they are read in a fixed order. Rows may be alike, so
    that a hash of their content could not tell them apart: where the order is fixed they are drawn
    by position, which costs nothing; elsewhere only if they have no column beside the key.
    """
    route = Route.of(partitioner)
    static = partitioner.static
    counted = forecast(profile, partitioner, capacities)
    if route.lowering == "online" or static is None or not static.cut.size:
        return route, counted
    drawn = forecast(profile, partitioner, capacities, drawn=True)
    noisy = drawn.max_over_mean > counted.max_over_mean + _DRAW_COST
    in_order = is_replayable(rows)
    if noisy and in_order:
        return Route.of(partitioner, "online"), counted
    return Route.of(partitioner, "native", _draw(rows, key, in_order)), drawn


def heaviest(profile: KeyProfile, partitioner: Partitioner) -> tuple[int, ...]:
    """The hashes, as signed numbers, of the heaviest keys that a table names; a few of them."""
    if partitioner.static is None:
        return ()
    named = profile.keys[np.isin(profile.keys, partitioner.static.table.keys)]
    return tuple(named[:LISTED].view(np.int64).tolist())


def unmeasured_route(rows: DataFrame, key: KeyColumns, partitioner: Partitioner) -> Route:
    """The route of a partitioner that is given whole; native where possible."""
    route = Route.of(partitioner)
    static = partitioner.static
    if route.lowering == "online" or static is None or not static.cut.size:
        return route
    return Route.of(partitioner, "native", _draw(rows, key, is_replayable(rows)))


def _draw(rows: DataFrame, key: KeyColumns, in_order: bool) -> Draw:
    alike = set(rows.columns) <= set(key.column_names)
    return "position" if in_order or alike else "content"


def whole_keys(profile: KeyProfile, settings: PlanSettings) -> RoutingTable:
    """The routing table of the profile's heavy keys, none of them cut."""
    return plan_whole_keys(profile.keys, profile.counts, profile.rest, **settings.of_planners)


def _planned_split(profile: KeyProfile, settings: PlanSettings) -> PlannedSplit:
    table = plan_split(profile.keys, profile.counts, profile.rest, **settings.of_planners)
    return PlannedSplit.of(profile.workers, table)


def _named(profile: KeyProfile, scheme: str, settings: PlanSettings) -> Partitioner:
    if not scheme_named(scheme).uses_frequencies:
        return build(scheme, profile.workers)
    if need_of(scheme) is Need.WHOLE_KEY:
        return whole_keys(profile, settings)
    return _planned_split(profile, settings)


def _whole(profile: KeyProfile, settings: PlanSettings, hashed: float) -> Choice:
    routes = whole_keys(profile, settings)
    level = forecast(profile, routes, settings.capacities).max_over_mean
    hottest = float(profile.counts[0]) / profile.rows if profile.counts.size else 0.0
    bound = ""
    if hottest * profile.workers > GOOD_ENOUGH:
        bound = (
            f"; one key alone has {hottest:.1%} of the rows, {hottest * profile.workers:.2f} times "
            "a worker's share, and only a mergeable operation could split it"
        )
    if level > 0.95 * hashed and settings.capacities is None:
        why = f"whole keys cannot be placed better than hashing does ({hashed:.2f} times the mean)"
        return Choice(KeyGrouping(profile.workers), why + bound, plain=True)
    why = (
        f"hashing would give one worker {hashed:.2f} times the mean; a table of "
        f"{routes.keys.size} keys brings it to {level:.2f}{bound}"
    )
    return Choice(routes, why)
