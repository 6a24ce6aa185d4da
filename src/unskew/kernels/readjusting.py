"""Moves and swaps of items between workers, each time the one that gains most."""

from __future__ import annotations

import numpy as np

from unskew.kernels import WorkerIds, compiled
from unskew.kernels.hash_pair import Amounts, balance_penalty, extremes, penalty_of, utility
from unskew.kernels.least_load_fit import group_by_worker

NOBODY = -1


@compiled
def _migration(item: int, source: int, target: int, state: Amounts, old: WorkerIds) -> float:
    """By how much the migration grows when `item` goes from `source` to `target`."""
    if old[item] == source:
        return state[item]
    return -state[item] if old[item] == target else 0.0


@compiled
def _pair_penalty(
    one: int,
    two: int,
    source: int,
    target: int,
    amounts: Amounts,
    weights: Amounts,
    theta: float,
    loads: Amounts,
    totals: Amounts,
    rest: Amounts,
) -> float:
    """The balance penalty once `one` went to `target` and `two`, if anybody, came back for it."""
    product = 1.0
    for k in range(weights.size):
        given = amounts[k, one] - (amounts[k, two] if two != NOBODY else 0.0)
        source_load, target_load = loads[k, source] - given, loads[k, target] + given
        highest = max(rest[k, 0], source_load, target_load)
        lowest = min(rest[k, 1], source_load, target_load)
        product *= penalty_of(highest, lowest, totals[k], loads.shape[1], theta) ** weights[k]
    return product


@compiled
def readjust_items(
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
    most_moves: int,
    owner: WorkerIds,
) -> int:
    """Improve `owner` by moves and swaps that lower the balance penalty; how many were made.

    Of those the one with most gain in utility per frequency moved is made, until none is left or
    the items have used up their `most_moves` each.
    """
    items = frequency.size
    loads = np.zeros((weights.size, workers))
    for item in range(items):
        for k in range(weights.size):
            loads[k, owner[item]] += amounts[k, item]
    totals = loads.sum(axis=1)
    rest = np.empty((weights.size, 2))
    moves = np.zeros(items, dtype=np.int64)
    every = np.arange(items)
    made = 0
    while True:
        balance = balance_penalty(loads, weights, theta)
        current = utility(kind, balance, moved / ideal)
        rows, offsets = group_by_worker(every, owner, workers)
        best_gain, best_one, best_two, best_target = -np.inf, -1, NOBODY, -1
        for source in range(workers):
            for target in range(workers):
                if source == target:
                    continue
                for k in range(weights.size):
                    rest[k, 0], rest[k, 1] = extremes(loads[k], source, target)
                # A swap is the same seen from its other end, so it is looked at from one only.
                swaps = offsets[target + 1] if source < target else offsets[target]
                for i in range(offsets[source], offsets[source + 1]):
                    one = rows[i]
                    if moves[one] >= most_moves:
                        continue
                    for j in range(offsets[target] - 1, swaps):
                        two = NOBODY if j < offsets[target] else rows[j]
                        if two != NOBODY and moves[two] >= most_moves:
                            continue
                        lower = _pair_penalty(
                            one, two, source, target, amounts, weights, theta, loads, totals, rest
                        )
                        if lower >= balance * (1 - 1e-12):
                            continue
                        extra = _migration(one, source, target, state, old)
                        difference = frequency[one]
                        if two != NOBODY:
                            extra += _migration(two, target, source, state, old)
                            difference = abs(frequency[one] - frequency[two])
                        value = utility(kind, lower, (moved + extra) / ideal)
                        gain = (current - value) / difference if difference > 0 else -np.inf
                        if gain > best_gain:
                            best_gain, best_one, best_two, best_target = gain, one, two, target
        if best_one < 0:
            return made
        source = owner[best_one]
        moved += _migration(best_one, source, best_target, state, old)
        owner[best_one] = best_target
        moves[best_one] += 1
        if best_two != NOBODY:
            moved += _migration(best_two, best_target, source, state, old)
            owner[best_two] = source
            moves[best_two] += 1
        for k in range(weights.size):
            given = amounts[k, best_one] - (amounts[k, best_two] if best_two != NOBODY else 0.0)
            loads[k, source] -= given
            loads[k, best_target] += given
        made += 1
