"""Planning of a split from key frequencies: level workers, few cuts, a small table."""

from __future__ import annotations

import numpy as np

from unskew.errors import ParameterError
from unskew.hashing.ring import arc_shift
from unskew.kernels.planned import Index, Weights, fill_workers
from unskew.partitioners.contract import KeyHashes, WorkerIds, check_epsilon
from unskew.partitioners.key_grouping import KeyGrouping
from unskew.partitioners.static import SplitTable
from unskew.sketches.hash_ranges import in_ranges
from unskew.sketches.key_table import KeyTable

TABLE = 1000
"""How many keys a plan may name by default."""


def plan_split(
    keys: KeyHashes,
    weights: Weights,
    rest: Weights,
    *,
    capacities: Weights | None = None,
    epsilon: float = 0.005,
    table: int = TABLE,
) -> SplitTable:
    """Fill each worker to its share, heaviest keys first, cutting a key only where one is full.

    `weights` are the rows (or costs) of `keys`; `rest` is what all other keys bring to each
    worker by their hash. The table is the smallest that brings every worker to its share within
    `epsilon`, and never longer than `table`; keys that are not in it go by their hash.
    """
    capacities = check_plan(keys, weights, rest, capacities, epsilon, table)
    heaviest = np.argsort(-weights, kind="stable")
    keys, weights = keys[heaviest], weights[heaviest]
    by_hash = KeyGrouping(rest.size).router().route(keys)
    fair = capacities * ((weights.sum() + rest.sum()) / capacities.sum())
    size = table_size(weights, by_hash, rest, fair * (1 + epsilon / 2), min(table, keys.size))
    hashed = rest + np.bincount(by_hash[size:], weights[size:], minlength=rest.size)
    room = water_level(hashed, capacities, weights[:size].sum()) * capacities - hashed
    return _filled(keys[:size], weights[:size], room, slack=fair * epsilon)


def planned_loads(
    plan: SplitTable,
    keys: KeyHashes,
    weights: Weights,
    rest: Weights,
    arcs: WorkerIds | None = None,
) -> Weights:
    """What each worker is given, if `keys` come with `weights` and all others bring `rest`.

    `arcs` are the owners of arcs of the range of hashes, for keys that the plan does not name;
    without them such keys go by key grouping.
    """
    planned = np.isin(keys, plan.keys)
    loads = _unplanned(keys[~planned], weights[~planned], rest, arcs)
    entry = np.searchsorted(plan.keys, keys[planned])
    weight = np.zeros(plan.keys.size)
    np.add.at(weight, entry, weights[planned])
    parts = np.repeat(weight, np.diff(plan.starts)) * plan.shares
    return loads + np.bincount(plan.owners, parts, minlength=rest.size)


def _unplanned(keys: KeyHashes, weights: Weights, rest: Weights, arcs: WorkerIds | None) -> Weights:
    if arcs is not None:
        each = arc_loads(keys, weights, rest, arcs.size)
        return np.bincount(arcs, each, minlength=rest.size).astype(np.float64)
    by_hash = KeyGrouping(rest.size).router().route(keys)
    return rest + np.bincount(by_hash, weights, minlength=rest.size)


def arc_loads(keys: KeyHashes, weights: Weights, rest: Weights, arcs: int) -> Weights:
    """What each of `arcs` equal arcs of the range of hashes brings: `keys`, and its part of `rest`.

    The range of a worker by key grouping is taken to be evenly filled by the rest.
    """
    named = (keys >> arc_shift(arcs)).astype(np.int64)
    loads: Weights = in_ranges(rest, arcs) + np.bincount(named, weights, minlength=arcs)
    return loads


def check_plan(
    keys: KeyHashes,
    weights: Weights,
    rest: Weights,
    capacities: Weights | None,
    epsilon: float,
    table: int,
) -> Weights:
    """Validate the input of a plan; return the capacities."""
    check_epsilon(epsilon)
    if table < 0:
        raise ParameterError(f"table={table} is below 0; give the most keys that a plan may name")
    if rest.size < 1:
        raise ParameterError("rest is empty; give the load of all other keys for each worker")
    if keys.size != weights.size:
        raise ParameterError(f"{keys.size} keys and {weights.size} weights; give one for each key")
    if capacities is None:
        return np.ones(rest.size)
    if capacities.size != rest.size or not (capacities > 0).all():
        raise ParameterError(
            f"capacities={capacities.tolist()} must be {rest.size} numbers above 0, one per worker"
        )
    return capacities.astype(np.float64)


def table_size(
    weights: Weights, by_hash: WorkerIds, rest: Weights, limit: Weights, most: int
) -> int:
    """The fewest of the heaviest keys, doubling, whose absence leaves no worker above `limit`."""
    size = 0
    while size < most:
        hashed = rest + np.bincount(by_hash[size:], weights[size:], minlength=rest.size)
        if (hashed <= limit).all():
            return size
        size = min(most, max(2 * size, 8))
    return most


def water_level(loads: Weights, capacities: Weights, more: float) -> float:
    """The utilisation that `more` fills the workers to, like water; the fuller ones stay dry.

    A worker that is above it already gets no room, so the level lies below its utilisation.
    """
    order = np.argsort(loads / capacities)
    below_loads = np.cumsum(loads[order])
    below_capacities = np.cumsum(capacities[order])
    levels = (more + below_loads) / below_capacities
    above = np.flatnonzero(levels[:-1] <= (loads / capacities)[order][1:])
    return float(levels[above[0]] if above.size else levels[-1])


def _filled(keys: KeyHashes, weights: Weights, room: Weights, slack: Weights) -> SplitTable:
    starts = np.zeros(keys.size + 1, dtype=np.int64)
    owners = np.zeros(keys.size + room.size, dtype=np.int32)
    shares = np.zeros(keys.size + room.size)
    fill_workers(weights, np.maximum(room, 0.0), slack, starts, owners, shares)
    return SplitTable(keys, starts, owners, shares).entries(np.argsort(keys))


def index_of(table: SplitTable) -> Index:
    """The table's keys as a hash map, for the kernels."""
    positions = KeyTable()
    positions.insert(table.keys, np.arange(table.keys.size, dtype=np.int32))
    return Index(positions.slots, positions.values)
