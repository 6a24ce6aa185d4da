"""From statistics to a partitioner: which scheme, and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.forecast import forecast
from unskew._spark.planning.statistics import KeyProfile
from unskew.errors import NeedError
from unskew.partitioners import ALL, KeyGrouping, Need, Partitioner, PlannedSplit, RoutingTable
from unskew.partitioners.serialization import build, scheme_named
from unskew.partitioners.split_planning import plan_split

GOOD_ENOUGH = 1.05
"""Key grouping with a maximum below this times the mean is left alone."""

Capacities = NDArray[np.float64] | None


class Choice(NamedTuple):
    """A partitioner, and the reason for it in words."""

    partitioner: Partitioner
    why: str
    plain: bool = False
    """Whether plain Spark is as good."""


def choose(
    profile: KeyProfile,
    need: Need,
    scheme: str,
    capacities: Capacities,
    epsilon: float,
    table: int,
) -> Choice:
    """The named scheme, or with "auto" the one that suits the need and the skew."""
    if scheme != "auto":
        check_legal(scheme, need)
        return Choice(_named(profile, scheme, capacities, epsilon, table), "asked for")
    hashed = forecast(profile, KeyGrouping(profile.workers), capacities).max_over_mean
    if hashed <= GOOD_ENOUGH and capacities is None:
        why = (
            f"hashing gives no worker more than {hashed:.3f} times the mean: plain Spark is as good"
        )
        return Choice(KeyGrouping(profile.workers), why, plain=True)
    if need is Need.WHOLE_KEY:
        return _whole(profile, capacities, epsilon, table, hashed)
    split = planned(profile, capacities, epsilon, table)
    why = (
        f"hashing would give one worker {hashed:.2f} times the mean; "
        f"{split.keys.size} planned keys with {split.owners.size - split.keys.size} cuts level it"
    )
    return Choice(split, why)


def planned(
    profile: KeyProfile, capacities: Capacities, epsilon: float, table: int
) -> PlannedSplit:
    """The planned split of the profile's heavy keys."""
    parts = plan_split(
        profile.keys,
        profile.counts,
        profile.rest,
        capacities=capacities,
        epsilon=epsilon,
        table=table,
    )
    return PlannedSplit.of(profile.workers, parts)


def whole_keys(
    profile: KeyProfile, capacities: Capacities, epsilon: float, table: int
) -> RoutingTable:
    """The routing table of the profile's heavy keys, none of them cut."""
    parts = plan_split(
        profile.keys,
        profile.counts,
        profile.rest,
        capacities=capacities,
        epsilon=epsilon,
        table=table,
        whole=True,
    )
    return RoutingTable(profile.workers, parts.keys, parts.owners)


def check_legal(scheme: str, need: Need) -> None:
    """Refuse a scheme that does not keep the promise, naming those that do."""
    if not promise(scheme).keeps(need):
        legal = [name for name in ALL if promise(name).keeps(need)]
        raise NeedError(
            f"{scheme} does not keep the promise {need.value}; these do: {', '.join(legal)}"
        )


def promise(scheme: str) -> Need:
    """The promise that a scheme of this name keeps on more than one worker."""
    if scheme == PlannedSplit.scheme:
        return Need.MERGEABLE  # With an empty table it would promise whole keys.
    # Two workers: with a single one every scheme keeps keys whole.
    return scheme_named(scheme)(workers=2).need  # type: ignore[call-arg]


def _named(
    profile: KeyProfile, scheme: str, capacities: Capacities, epsilon: float, table: int
) -> Partitioner:
    if scheme == "planned-split":
        return planned(profile, capacities, epsilon, table)
    if scheme in ("routing-table", "offline-greedy"):
        return whole_keys(profile, capacities, epsilon, table)
    return build(scheme, profile.workers)


def _whole(
    profile: KeyProfile, capacities: Capacities, epsilon: float, table: int, hashed: float
) -> Choice:
    routes = whole_keys(profile, capacities, epsilon, table)
    level = forecast(profile, routes, capacities).max_over_mean
    hottest = float(profile.counts[0]) / profile.rows if profile.counts.size else 0.0
    bound = ""
    if hottest * profile.workers > GOOD_ENOUGH:
        bound = (
            f"; one key alone has {hottest:.1%} of the rows, {hottest * profile.workers:.2f} times "
            "a worker's share, and only a mergeable operation could split it"
        )
    if level > 0.95 * hashed and capacities is None:
        why = f"whole keys cannot be placed better than hashing does ({hashed:.2f} times the mean)"
        return Choice(KeyGrouping(profile.workers), why + bound, plain=True)
    why = (
        f"hashing would give one worker {hashed:.2f} times the mean; a table of "
        f"{routes.keys.size} keys brings it to {level:.2f}{bound}"
    )
    return Choice(routes, why)
