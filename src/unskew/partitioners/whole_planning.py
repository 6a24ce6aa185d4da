"""Planning of whole keys from key frequencies: heavy keys by name, the others by arcs."""

from __future__ import annotations

import numpy as np

from unskew.kernels.planned import Weights
from unskew.partitioners.contract import KeyHashes, WorkerIds
from unskew.partitioners.routing_table import RoutingTable
from unskew.partitioners.split_planning import TABLE, arc_loads, check_plan, water_level
from unskew.partitioners.weighted_grouping import WeightedGrouping, arcs_for

_UNSEEN = 1e-9
"""What keys that were not seen are taken for, as a share of all: they must have a worker, too."""


def plan_whole_keys(
    keys: KeyHashes,
    weights: Weights,
    rest: Weights,
    *,
    capacities: Weights | None = None,
    epsilon: float = 0.005,
    table: int = TABLE,
) -> RoutingTable:
    """Place heavy keys largest first, and deal all others out in the room that is left.

    `weights` are the rows (or costs) of `keys`; `rest` is what all other keys bring to each
    worker by key grouping. Named are the keys above `epsilon` of a worker's share, at most
    `table` of them; a worker that they fill gets no other key at all. Workers are numbered by
    falling load, since Spark starts tasks in the order of their numbers; with `capacities`, which
    name the workers, they keep their numbers.

    On workers that are alike no load exceeds the largest of three: the heaviest key H, the mean
    and an arc T/m + A, the mean of the named keys and one of them N/m + w. T and N are the
    weights of all and of the named keys, m the number of workers, A the heaviest arc and w the
    named key of rank m+1 (0 if there is none). For the last key of a worker that has several was
    given to it when it was the least loaded one, so that this worker had at most N/m then, and
    the key is not among the m heaviest, which went to m empty workers. A worker with arcs is
    filled to a common level, which is at most T/m, and the two ends of its run of arcs are within
    half an arc of where they should be.
    """
    speeds = check_plan(keys, weights, rest, capacities, epsilon, table)
    total = float(weights.sum() + rest.sum())
    named = np.argsort(-weights, kind="stable")[:table]
    named = named[weights[named] > epsilon * total * speeds.min() / speeds.sum()]
    owners, loads = _largest_first(weights[named], speeds)
    light = np.delete(np.arange(keys.size), named)
    arcs = arc_loads(keys[light], weights[light], rest, arcs_for(rest.size))
    arcs += _UNSEEN * max(total, 1.0) / arcs.size
    room = water_level(loads, speeds, float(arcs.sum())) * speeds - loads
    dealt = _dealt(arcs, np.maximum(room, 0.0))
    loads += np.bincount(dealt, arcs, minlength=rest.size)
    number = _falling(loads if capacities is None else np.zeros(rest.size))
    runs, lengths = np.unique(dealt, return_counts=True)
    base = WeightedGrouping(rest.size, number[runs], lengths)
    return RoutingTable(rest.size, keys[named], number[owners], base)


def _largest_first(weights: Weights, speeds: Weights) -> tuple[WorkerIds, Weights]:
    """Give each key, by falling weight, to the worker that would be done with it first."""
    owners = np.empty(weights.size, dtype=np.int32)
    loads = np.zeros(speeds.size)
    for key, weight in enumerate(weights):
        owners[key] = np.argmin((loads + weight) / speeds)
        loads[owners[key]] += weight
    return owners, loads


def _dealt(arcs: Weights, room: Weights) -> WorkerIds:
    """The worker of each arc: runs of arcs, each as long as its worker's room.

    An arc belongs to the worker in whose room its middle lies. Runs are cut out of few ranges of
    the statistics, so that what they bring is known better than that of scattered arcs.
    """
    middles = np.cumsum(arcs) - arcs / 2
    last = np.flatnonzero(room)[-1]
    dealt = np.searchsorted(np.cumsum(room), middles, side="right")
    owners: WorkerIds = np.minimum(dealt, last).astype(np.int32)
    return owners


def _falling(loads: Weights) -> WorkerIds:
    """The new number of each worker, so that loads fall; of equal loads the first is first."""
    number = np.empty(loads.size, dtype=np.int32)
    number[np.argsort(-loads, kind="stable")] = np.arange(loads.size)
    return number
