"""The plan of a join: which keys to split, on which side, and whether it is worth it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.choice import GOOD_ENOUGH, whole_keys
from unskew._spark.planning.notices import tell
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import MEASURED, RoutingRequest
from unskew._spark.planning.statistics import KeyProfile, profile_keys, together
from unskew._spark.routing.route import Route
from unskew.partitioners import PlannedSplit
from unskew.partitioners.serialization import build
from unskew.partitioners.split_planning import plan_split, planned_loads
from unskew.partitioners.static import SplitTable

_NO_KEYS = SplitTable.empty()


@dataclass(frozen=True, slots=True)
class SideRoute:
    """How one side goes: most rows to one worker, the rows of some keys to several."""

    route: Route
    """Every key that is not copied."""
    copied: SplitTable = _NO_KEYS
    """Keys that the other side splits: their rows go to all of their workers."""


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """How both sides of a join are routed, why, and what to expect."""

    key: tuple[str, ...]
    left: SideRoute
    right: SideRoute
    why: str
    plain: bool = False
    """Whether plain Spark is as good: the join is then left to it."""
    hashed: float | None = None
    """The expected max/mean if both sides went by the hash of the key; None if not measured."""
    max_over_mean: float | None = None
    """The expected max/mean of the work (rows read and pairs written); None if not measured."""

    @property
    def workers(self) -> int:
        """How many workers both sides are spread over."""
        return self.left.route.workers

    def explain(self) -> None:
        """Print the scheme, the reason, the forecast and the routing."""
        print(self)

    def __str__(self) -> str:
        scheme = "plain Spark" if self.plain else self.left.route.partitioner.scheme
        lines = [f"scheme    {scheme} for a join by {', '.join(self.key) or 'a condition'}"]
        lines.append(f"reason    {self.why}")
        if self.max_over_mean is not None:
            lines.append(
                f"forecast  max/mean {self.max_over_mean:.3f} on {self.workers} workers "
                f"(hashing: {self.hashed:.3f})"
            )
        for name, side, other in (
            ("left", self.left, self.right),
            ("right", self.right, self.left),
        ):
            if not self.plain:
                lines.append(
                    f"{name:<9} {other.copied.keys.size} keys split over several workers, "
                    f"{side.copied.keys.size} copied to all parts of the other side"
                )
        return "\n".join(lines)


def plan_join_routes(
    left: RoutingRequest, right: RoutingRequest, right_may_split: bool
) -> JoinPlan:
    """Decide how both sides go; reads their keys once if the scheme is made from frequencies."""
    scheme, key = left.scheme, left.key.names
    if isinstance(scheme, Plan):
        return _alike(key, scheme.route, "a plan made before")
    if scheme not in MEASURED:
        return _alike(key, Route.of(build(scheme, left.workers)), "requested")
    profiles = _profile(left), _profile(right)
    if scheme not in ("auto", "planned-split"):
        return _alike(key, Route.of(whole_keys(together(*profiles), left.settings)), "requested")
    return _split(*profiles, left, right_may_split)


def leave_join_to_spark(request: RoutingRequest, why: str) -> JoinPlan:
    """A plan that leaves the join to Spark; the reason is logged."""
    tell(f"plain Spark: {why}")
    side = SideRoute(Route.to_spark(request.workers))
    return JoinPlan(request.key.names, side, side, why, plain=True)


def _profile(side: RoutingRequest) -> KeyProfile:
    """The frequencies of the keys that can have a partner."""
    present = side.rows.select(*side.key.columns).where(~side.key.any_null)
    return profile_keys(present, side.key, side.workers, side.settings.sample)


def _split(
    left: KeyProfile, right: KeyProfile, request: RoutingRequest, right_may_split: bool
) -> JoinPlan:
    keys = np.union1d(left.keys, right.keys)
    here, there = _counts(left, keys), _counts(right, keys)
    # Rows in and rows out: a worker reads its keys' rows and writes their pairs.
    weights = here + there + here * there
    typical = right.rows / max(right.distinct, 1)
    rest = left.rest * (1 + typical) + right.rest
    settings = request.settings
    hashed = _level(_NO_KEYS, keys, weights, rest, settings.capacities)
    if request.scheme == "auto" and hashed <= GOOD_ENOUGH and settings.capacities is None:
        why = f"hashing gives no worker more than {hashed:.3f} times the mean"
        return leave_join_to_spark(request, why)
    table = plan_split(
        keys,
        weights,
        rest,
        **settings.of_planners,
    )
    entry = np.searchsorted(keys, table.keys)
    by_left = (here >= there)[entry] if right_may_split else np.ones(table.keys.size, dtype=bool)
    cut = table.parts > 1
    why = (
        f"hashing would give one worker {hashed:.2f} times the mean; {table.keys.size} keys are "
        f"planned, {int((cut & by_left).sum())} split on the left and "
        f"{int((cut & ~by_left).sum())} on the right"
    )
    tell(f"planned-split join: {why}")
    return JoinPlan(
        request.key.names,
        _side(left.workers, table, copied=cut & ~by_left),
        _side(left.workers, table, copied=cut & by_left),
        why,
        hashed=hashed,
        max_over_mean=_level(table, keys, weights, rest, settings.capacities),
    )


def _level(
    table: SplitTable,
    keys: NDArray[np.uint64],
    weights: NDArray[np.float64],
    rest: NDArray[np.float64],
    capacities: NDArray[np.float64] | None,
) -> float:
    """The expected max/mean of the workers' utilisation."""
    loads = planned_loads(table, keys, weights, rest)
    used = loads if capacities is None else loads / capacities * capacities.mean()
    fair = float(loads.mean())
    return float(used.max()) / fair if fair else 1.0


def _counts(profile: KeyProfile, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The rows of each key on one side; a key that is not heavy there has a typical number."""
    light = np.full(keys.size, profile.rest.sum() / max(profile.distinct - profile.keys.size, 1))
    order = np.argsort(profile.keys)
    light[np.searchsorted(keys, profile.keys[order])] = profile.counts[order]
    return light


def _alike(key: tuple[str, ...], route: Route, why: str) -> JoinPlan:
    return JoinPlan(key, SideRoute(route), SideRoute(route), why)


def _side(workers: int, table: SplitTable, copied: NDArray[np.bool_]) -> SideRoute:
    kept = table.entries(np.flatnonzero(~copied))
    return SideRoute(
        Route.of(PlannedSplit.of(workers, kept)), table.entries(np.flatnonzero(copied))
    )
