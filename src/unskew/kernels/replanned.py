"""Routing by a plan that follows the stream: split keys level the workers, full workers overflow.

Within an interval no worker takes more than `bound` rows. A split key goes to the least loaded of
its owners, and since neighbours in the plan share keys, load flows from one to the next; all
other keys have one worker. A key whose workers are full goes to the first worker with room in its
own sequence of workers, so that the same key overflows to the same place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unskew.kernels import KeyHashes, Loads, WorkerIds, compiled
from unskew.kernels.choices import first_choice, next_choice, stride_of
from unskew.kernels.mixing import below, mix
from unskew.kernels.planned import Index, Offsets, Weights
from unskew.kernels.table import FREE, slot_of


class IntervalCounts(NamedTuple):
    """What a source counts within an interval."""

    loads: Loads
    """Rows by the worker that got them."""
    hashed: Loads
    """Rows by the worker that their hash picks."""


@compiled
def send_replanned(
    keys: KeyHashes,
    bound: int,
    prime: np.uint64,
    index: Index,
    starts: Offsets,
    owners: WorkerIds,
    interval: IntervalCounts,
    out: WorkerIds,
) -> None:
    """Send every key to the least loaded of its owners, or past them when they are full."""
    loads = interval.loads
    workers = np.uint64(loads.size)
    for i in range(keys.size):
        home = np.int64(below(keys[i], workers))
        interval.hashed[home] += 1
        entry = index.entries[slot_of(index.slots, index.entries, keys[i])]
        worker = home
        if entry != FREE:
            worker = np.int64(owners[starts[entry]])
            for part in range(starts[entry] + 1, starts[entry + 1]):
                if loads[owners[part]] < loads[worker]:
                    worker = np.int64(owners[part])
        if loads[worker] >= bound:
            worker = _first_with_room(keys[i], bound, prime, loads)
        loads[worker] += 1
        out[i] = worker


@compiled
def _first_with_room(key: np.uint64, bound: int, prime: np.uint64, loads: Loads) -> np.int64:
    """The first worker of a key's sequence that is below `bound`; some worker must be."""
    workers = np.uint64(loads.size)
    mixed = mix(key)
    stride = stride_of(mixed, prime)
    position = first_choice(mixed, workers, prime)
    while loads[np.int64(position)] >= bound:
        position = next_choice(position, stride, workers, prime)
    return np.int64(position)


@compiled
def keep_and_fill(
    weights: Weights,
    room: Weights,
    slack: Weights,
    held: Offsets,
    holders: WorkerIds,
    starts: Offsets,
    owners: WorkerIds,
) -> int:
    """As `fill_workers`, but a key stays with the workers that hold it as far as they have room.

    Key i is held by `holders[held[i]:held[i+1]]`. Returns the number of parts.
    """
    part = 0
    for i in range(weights.size):
        starts[i] = part
        left = weights[i]
        for position in range(held[i], held[i + 1]):
            worker = np.int64(holders[position])
            if left > 0 and (room[worker] > slack[worker] or left <= room[worker] + slack[worker]):
                taken = min(left, room[worker] + slack[worker])
                owners[part] = worker
                part += 1
                room[worker] -= taken
                left -= taken
        while left > 0:
            worker = np.argmax(room)
            whole = left <= room[worker] + slack[worker] or part - starts[i] >= room.size - 1
            taken = left if whole else room[worker]
            known = False
            for position in range(starts[i], part):
                known = known or owners[position] == worker
            if not known:
                owners[part] = worker
                part += 1
            room[worker] -= taken
            left -= taken
    starts[weights.size] = part
    return part
