"""Frequent keys get many choices, the rest two.

The least loaded of d choices is found without looking at all d: a frequent key remembers where
on its walk it stopped and the lowest load that it has seen. Loads only grow, so a choice that
stands no higher than that, or no higher than any worker, cannot be beaten.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, Loads, WorkerIds, inlined, tight
from unskew.kernels.choices import first_choice, least_loaded_on_walk, next_choice, stride_of
from unskew.kernels.levelling import LEVEL, add_row, lowest
from unskew.kernels.mixing import mix
from unskew.kernels.space_saving import ROWS, Summary, observe


class Walks(NamedTuple):
    """For every counter of a summary: whose walk, how long, where it stopped, and its floor."""

    keys: KeyHashes
    choices: NDArray[np.int64]
    positions: NDArray[np.uint64]
    places: NDArray[np.int64]
    floors: Loads


def no_walks(counters: int) -> Walks:
    """Nobody has walked yet."""
    return Walks(
        keys=np.zeros(counters, dtype=np.uint64),
        choices=np.zeros(counters, dtype=np.int64),
        positions=np.zeros(counters, dtype=np.uint64),
        places=np.zeros(counters, dtype=np.int64),
        floors=np.zeros(counters, dtype=np.int64),
    )


@tight
def send_head_wider(
    rows: KeyHashes,
    threshold: float,
    head_choices: int,
    prime: np.uint64,
    loads: Loads,
    level: Loads,
    summary: Summary,
    walks: Walks,
    out: WorkerIds,
) -> None:
    """Keys seen in at least `threshold` of the rows have `head_choices` choices, others two."""
    keys, counts, errors, heads, following, count_level, totals = summary
    walk_keys, walk_choices, positions, places, floors = walks
    tail_choices = min(2, loads.size)
    for i in range(rows.size):
        key, mixed = rows[i], mix(rows[i])
        counter = observe(keys, counts, errors, heads, following, count_level, totals, key, mixed)
        if counts[counter] < threshold * totals[ROWS]:
            worker = least_loaded_on_walk(mixed, tail_choices, loads, prime)
        elif head_choices >= loads.size:
            worker = lowest(loads, level)
        else:
            if walk_keys[counter] != key or walk_choices[counter] != head_choices:
                walk_keys[counter] = key
                walk_choices[counter] = head_choices
                places[counter] = head_choices
                floors[counter] = -1
            worker = _least_on_walk(
                mixed, counter, head_choices, loads, level, prime, positions, places, floors
            )
        add_row(loads, level, worker)
        out[i] = worker


@inlined
def _least_on_walk(
    mixed: np.uint64,
    counter: np.int64,
    choices: int,
    loads: Loads,
    level: Loads,
    prime: np.uint64,
    positions: NDArray[np.uint64],
    places: NDArray[np.int64],
    floors: Loads,
) -> np.int64:
    """The least loaded of a key's choices, looking on from where it stopped the last time."""
    workers = np.uint64(loads.size)
    stride = stride_of(mixed, prime)
    position, place = positions[counter], places[counter]
    floor = max(floors[counter], level[LEVEL])
    best, best_place, best_load = position, place, np.int64(2**62)
    for _ in range(choices):
        if place == choices:
            place = np.int64(0)
            position = first_choice(mixed, workers, prime)
        load = loads[np.int64(position)]
        if load < best_load:
            best, best_place, best_load = position, place, load
            if load <= floor:
                break
        place += 1
        position = next_choice(position, stride, workers, prime)
    positions[counter] = best
    places[counter] = best_place
    floors[counter] = best_load
    return np.int64(best)
