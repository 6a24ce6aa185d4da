"""What scan, redist and readj share: frequent keys by table, all others by hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unskew.errors import ParameterError
from unskew.kernels import WorkerIds
from unskew.kernels.hash_pair import place_items
from unskew.metrics import max_over_min
from unskew.rebalancing.outset import Outset, Rows
from unskew.rebalancing.rebalance import Rebalance, Stop
from unskew.rebalancing.resources import Resources, amount
from unskew.rebalancing.statistics import Amounts, KeyStatistics

Utility = Literal["a", "apm", "aplm", "atm", "atlm"]
"""Balance alone; plus migration; plus log(1 + migration); and the same two as factors."""


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The tracked keys in falling order of frequency, as the kernels want them."""

    rows: Rows
    frequency: Amounts
    amounts: Amounts
    weights: Amounts
    state: Amounts
    old: WorkerIds
    theta: float
    utility: int
    moved: float
    ideal: float
    workers: int


Fill = Callable[[Items, WorkerIds], int]
"""Changes the owners of the items, which start at home or where they were."""


def frequencies(keys: KeyStatistics) -> Amounts:
    """Each key's part of all messages."""
    total = float(keys.frequency.sum()) + keys.unlisted
    return keys.frequency / total if total > 0 else keys.frequency


def tracked(keys: KeyStatistics, resources: Resources, sigma: float, workers: int) -> Rows:
    """The keys that stand in the explicit hash, the most frequent first."""
    frequency = frequencies(keys)
    threshold = resources.threshold(frequency, max(keys.size, 1), sigma, workers)
    rows = np.flatnonzero((frequency >= threshold) & (frequency > 0))
    order: Rows = rows[np.argsort(-frequency[rows], kind="stable")]
    return order


def placing(in_order: bool) -> Fill:
    """Place every item anew: in falling order of frequency, or always the one that gains most."""

    def fill(items: Items, owner: WorkerIds) -> int:
        place_items(
            items.frequency, items.amounts, items.weights, items.state, items.old, items.theta,
            items.utility, items.moved, items.ideal, items.workers, in_order, owner,
        )  # fmt: skip
        return items.rows.size

    return fill


def plan_pair(
    algorithm: str, outset: Outset, resources: Resources, sigma: float, utility: Utility, fill: Fill
) -> Rebalance:
    """Track the frequent keys, let `fill` place them, send all others home."""
    rows = (
        tracked(outset.keys, resources, sigma, outset.workers)
        if outset.workers > 1
        else np.empty(0, dtype=np.intp)
    )
    let_go = np.setdiff1d(outset.entries, rows, assume_unique=True)
    owner = np.where(
        outset.previous[rows] < outset.workers, outset.previous[rows], outset.home[rows]
    ).astype(np.int32)
    if rows.size:
        fill(_items(outset, rows, let_go, resources, utility), owner)
    everywhere = outset.start.copy()
    everywhere[let_go] = outset.home[let_go]
    everywhere[rows] = owner
    loads = np.bincount(everywhere, weights=outset.keys.cost, minlength=outset.workers)
    level = max_over_min(loads + outset.keys.unlisted / outset.workers) <= resources.alpha
    return outset.conclude(
        algorithm,
        np.concatenate([rows, let_go]),
        np.concatenate([owner, outset.home[let_go]]),
        stop=Stop.LEVEL if level else Stop.DONE,
        remarks=(f"{rows.size} keys are frequent enough to be tracked",),
    )


def _items(
    outset: Outset, rows: Rows, let_go: Rows, resources: Resources, utility: Utility
) -> Items:
    frequency = frequencies(outset.keys)
    state = amount(resources.state, frequency)
    weights = resources.weights()
    moved = state[let_go][outset.previous[let_go] != outset.home[let_go]].sum()
    gone = outset.previous[rows] >= outset.workers
    concerned = state[rows].sum() + state[let_go].sum()
    return Items(
        rows, frequency[rows],
        np.stack([amount(growth, frequency[rows]) for growth in weights]),
        np.array(list(weights.values())), state[rows], outset.previous[rows],
        resources.tolerance(outset.workers), get_args(Utility).index(utility),
        float(moved + state[rows][gone].sum()), float(concerned) / outset.workers, outset.workers,
    )  # fmt: skip


def check_pair(sigma: float, utility: str) -> None:
    """Refuse settings that the planners of hash pairs do not have."""
    if not 0 < sigma <= 1:
        raise ParameterError(f"sigma={sigma} is not in (0, 1]; the paper uses 0.1")
    if utility not in get_args(Utility):
        raise ParameterError(f"utility={utility!r} is not one of {', '.join(get_args(Utility))}")
