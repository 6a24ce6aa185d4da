"""Which keys of a join to split, on which side, and whether it is worth it."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew._spark.frames.keys import column
from unskew._spark.planning.choice import GOOD_ENOUGH, whole_keys
from unskew._spark.planning.pairs import together
from unskew._spark.planning.plan import Plan, default_workers
from unskew._spark.planning.request import MEASURED, Wish
from unskew._spark.planning.statistics import KeyProfile, profile_keys
from unskew._spark.verbs.join_sides import SideRoute
from unskew.errors import NeedError
from unskew.metrics import max_over_mean
from unskew.partitioners import Need, Partitioner, PlannedSplit
from unskew.partitioners.serialization import build
from unskew.partitioners.split_planning import SplitTable, plan_split, planned_loads

_log = logging.getLogger("unskew")

_NONE = SplitTable(
    np.empty(0, dtype=np.uint64),
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.int32),
    np.empty(0),
)


@dataclass(frozen=True, slots=True)
class JoinRoutes:
    """How both sides go."""

    left: SideRoute
    right: SideRoute

    @property
    def workers(self) -> int:
        """How many workers both are spread over."""
        return self.left.partitioner.workers


def check_join_scheme(wish: Wish) -> None:
    """Refuse a scheme that would part the rows of a key without bringing their partners along."""
    if wish.scheme == PlannedSplit.scheme:
        wish.check(Need.MERGEABLE)
        return
    try:
        wish.check(Need.WHOLE_KEY)
    except NeedError as problem:
        raise NeedError(f"{problem}, planned-split (which copies the other side)") from None


def join_routes(
    left: DataFrame, right: DataFrame, keys: list[str], wish: Wish, right_may_split: bool
) -> JoinRoutes | None:
    """The routes of both sides, or None where plain Spark is as good."""
    workers = default_workers(left) if wish.workers is None else wish.workers
    if isinstance(wish.scheme, Plan):
        return _alike(wish.scheme.partitioner)
    if wish.scheme not in MEASURED:
        return _alike(build(wish.scheme, workers))
    sample = wish.settings.get("sample")
    here, there = (_profile(side, keys, workers, sample) for side in (left, right))
    if wish.scheme not in ("auto", "planned-split"):
        settings = {"capacities": None, "epsilon": 0.005, "table": 1000, **wish.settings}
        settings.pop("sample", None)
        return _alike(whole_keys(together(here, there), **settings))
    return _split(here, there, wish, right_may_split)


def _profile(side: DataFrame, keys: list[str], workers: int, sample: float | None) -> KeyProfile:
    """The frequencies of the keys that can have a partner."""
    present = side.select(*map(column, keys))
    for name in keys:
        present = present.where(column(name).isNotNull())
    return profile_keys(present, keys, workers, sample)


def _split(
    left: KeyProfile, right: KeyProfile, wish: Wish, right_may_split: bool
) -> JoinRoutes | None:
    keys = np.union1d(left.keys, right.keys)
    here, there = _counts(left, keys), _counts(right, keys)
    # Rows in and rows out: a worker reads its keys' rows and writes their pairs.
    weights = here + there + here * there
    typical = right.rows / max(right.distinct, 1)
    rest = left.rest * (1 + typical) + right.rest
    settings = {name: wish.settings[name] for name in ("epsilon", "table") if name in wish.settings}
    hashed = max_over_mean(planned_loads(_NONE, keys, weights, rest))
    if wish.scheme == "auto" and hashed <= GOOD_ENOUGH:
        _log.info("plain Spark: hashing gives no worker more than %.3f times the mean", hashed)
        return None
    table = plan_split(keys, weights, rest, **settings)
    entry = np.searchsorted(keys, table.keys)
    by_left = (here >= there)[entry] if right_may_split else np.ones(table.keys.size, dtype=bool)
    cut = np.diff(table.starts) > 1
    _log.info(
        "planned-split join: hashing would give one worker %.2f times the mean; %d keys are "
        "planned, %d split on the left and %d on the right",
        hashed,
        table.keys.size,
        int((cut & by_left).sum()),
        int((cut & ~by_left).sum()),
    )
    return JoinRoutes(
        _side(left.workers, table, copied=cut & ~by_left),
        _side(left.workers, table, copied=cut & by_left),
    )


def _counts(profile: KeyProfile, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The rows of each key on one side; a key that is not heavy there has a typical number."""
    light = np.full(keys.size, profile.rest.sum() / max(profile.distinct - profile.keys.size, 1))
    order = np.argsort(profile.keys)
    light[np.searchsorted(keys, profile.keys[order])] = profile.counts[order]
    return light


def _alike(partitioner: Partitioner) -> JoinRoutes:
    return JoinRoutes(SideRoute(partitioner, _NONE), SideRoute(partitioner, _NONE))


def _side(workers: int, table: SplitTable, copied: NDArray[np.bool_]) -> SideRoute:
    return SideRoute(PlannedSplit.of(workers, _chosen(table, ~copied)), _chosen(table, copied))


def _chosen(table: SplitTable, keep: NDArray[np.bool_]) -> SplitTable:
    """The table of some of its keys."""
    parts = np.diff(table.starts)
    kept = np.repeat(keep, parts)
    starts = np.concatenate(([0], np.cumsum(parts[keep]))).astype(np.int64)
    return SplitTable(table.keys[keep], starts, table.owners[kept], table.shares[kept])
