"""Filling the explicit half of a hash pair: place, or move and swap, for the best utility.

A placement is judged by two penalties. The balance penalty is (max − min) / (theta · mean) of the
loads so far, as a weighted geometric mean over resources; the migration penalty is the state that
moves over the state that would move ideally. Lower is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import WorkerIds, compiled

Amounts = NDArray[np.float64]
Rows = NDArray[np.int64]

BALANCE, PLUS, PLUS_LOG, TIMES, TIMES_LOG = 0, 1, 2, 3, 4
"""The utility functions of the paper: U_A, U_APM, U_APLM, U_ATM and U_ATLM."""


@compiled
def utility(kind: int, balance: float, migration: float) -> float:
    """The two penalties as one number; lower is better."""
    if kind == PLUS:
        return balance + migration
    if kind == PLUS_LOG:
        return balance + np.log(1 + migration)
    if kind == TIMES:
        return balance * (1 + migration)
    if kind == TIMES_LOG:
        return balance * (1 + np.log(1 + migration))
    return balance


@compiled
def penalty_of(highest: float, lowest: float, total: float, workers: int, theta: float) -> float:
    """How far the loads of one resource are apart, in tolerances."""
    return (highest - lowest) * workers / (theta * total) if total > 0 else 0.0


@compiled
def balance_penalty(loads: Amounts, weights: Amounts, theta: float) -> float:
    """The balance penalty of `loads`: one row per resource."""
    product = 1.0
    for k in range(weights.size):
        row = loads[k]
        product *= penalty_of(row.max(), row.min(), row.sum(), row.size, theta) ** weights[k]
    return product


@compiled
def extremes(row: Amounts, one: int, two: int) -> tuple[float, float]:
    """The highest and the lowest load of the workers other than `one` and `two`."""
    highest, lowest = -np.inf, np.inf
    for worker in range(row.size):
        if worker != one and worker != two:
            highest = max(highest, row[worker])
            lowest = min(lowest, row[worker])
    return highest, lowest


@compiled
def _others(loads: Amounts, out: Amounts) -> None:
    """For each resource and worker, the highest and the lowest load of all other workers."""
    for k in range(loads.shape[0]):
        for worker in range(loads.shape[1]):
            out[k, worker, 0], out[k, worker, 1] = extremes(loads[k], worker, worker)


@compiled
def _placed_penalty(
    item: int,
    worker: int,
    amounts: Amounts,
    weights: Amounts,
    theta: float,
    loads: Amounts,
    totals: Amounts,
    others: Amounts,
) -> float:
    """The balance penalty once `item` is on `worker`."""
    product = 1.0
    for k in range(weights.size):
        mine = loads[k, worker] + amounts[k, item]
        highest = max(others[k, worker, 0], mine)
        lowest = min(others[k, worker, 1], mine)
        total = totals[k] + amounts[k, item]
        product *= penalty_of(highest, lowest, total, loads.shape[1], theta) ** weights[k]
    return product


@compiled
def place_items(
    frequency: Amounts,
    amounts: Amounts,
    weights: Amounts,
    state: Amounts,
    old: WorkerIds,
    theta: float,
    kind: int,
    moved: float,
    ideal: float,
    workers: int,
    in_turn: bool,
    out: WorkerIds,
) -> None:
    """Place every item, given in falling order of frequency, where the utility is best.

    `in_turn` takes the items in their order (scan); otherwise each step takes whichever unplaced
    item has the best utility per frequency (redist).
    """
    items = frequency.size
    loads = np.zeros((weights.size, workers))
    totals = np.zeros(weights.size)
    others = np.empty((weights.size, workers, 2))
    waiting = np.arange(items)
    for step in range(items):
        _others(loads, others)
        best, best_worker, best_utility = -1, -1, np.inf
        for at in range(1 if in_turn else items - step):
            item = waiting[step] if in_turn else waiting[at]
            scale = 1.0 if in_turn else frequency[item]
            for worker in range(workers):
                balance = _placed_penalty(
                    item, worker, amounts, weights, theta, loads, totals, others
                )
                migration = (moved + (state[item] if worker != old[item] else 0.0)) / ideal
                value = utility(kind, balance, migration) / scale
                if value < best_utility:
                    best, best_worker, best_utility = at, worker, value
        item = waiting[step] if in_turn else waiting[best]
        if not in_turn:
            waiting[best : items - step - 1] = waiting[best + 1 : items - step].copy()
        if best_worker != old[item]:
            moved += state[item]
        out[item] = best_worker
        for k in range(weights.size):
            loads[k, best_worker] += amounts[k, item]
            totals[k] += amounts[k, item]
