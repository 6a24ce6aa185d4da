"""The least loaded of all workers in O(1) amortised time.

Loads grow by one at a time, so the lowest level only rises. `Level` counts the workers that still
stand on it; when none does, one pass over the loads finds the next level. The level is at most the
mean load, so m rows cause at most m/n such passes of n steps, and a cursor that looks for a worker
on the level goes round once per level.
"""

from __future__ import annotations

import numpy as np

from unskew.kernels import KeyHashes, Loads, WorkerIds, compiled, inlined
from unskew.kernels.choices import least_loaded
from unskew.kernels.table import FREE, slot_of

CURSOR, LEVEL, ON_LEVEL = 0, 1, 2
"""What `level` holds: where to look next, the lowest load, and how many workers have it."""


def ground_level(workers: int, cursor: int = 0) -> Loads:
    """All workers at load 0; ties go to the workers from `cursor` on."""
    return np.array([cursor, 0, workers], dtype=np.int64)


@inlined
def add_row(loads: Loads, level: Loads, worker: np.int64) -> None:
    """Give `worker` one row more."""
    loads[worker] += 1
    if loads[worker] == level[LEVEL] + 1:
        level[ON_LEVEL] -= 1
        if level[ON_LEVEL] == 0:
            _find_level(loads, level)


@compiled
def _find_level(loads: Loads, level: Loads) -> None:
    # Not loads.min(): within an inlined caller numba fails to compile it, unless it is cached.
    lowest_load = loads[0]
    for worker in range(1, loads.size):
        lowest_load = min(lowest_load, loads[worker])
    level[LEVEL] = lowest_load
    for worker in range(loads.size):
        level[ON_LEVEL] += loads[worker] == lowest_load


@inlined
def lowest(loads: Loads, level: Loads) -> np.int64:
    """A least loaded worker; the cursor stays on it."""
    cursor = level[CURSOR]
    while loads[cursor] != level[LEVEL]:
        cursor += 1
        if cursor == loads.size:
            cursor = np.int64(0)
    level[CURSOR] = cursor
    return cursor


@compiled
def send_new_keys_to_lowest(
    keys: KeyHashes,
    loads: Loads,
    level: Loads,
    slots: KeyHashes,
    owners: WorkerIds,
    out: WorkerIds,
) -> int:
    """Give a new key to the least loaded worker and remember it; return the number of new keys."""
    added = 0
    for i in range(keys.size):
        slot = slot_of(slots, owners, keys[i])
        if owners[slot] == FREE:
            slots[slot] = keys[i]
            owners[slot] = lowest(loads, level)
            added += 1
        worker = owners[slot]
        add_row(loads, level, worker)
        out[i] = worker
    return added


@compiled
def send_new_keys_to_least_of_choices(
    keys: KeyHashes,
    choices: int,
    distinct: bool,
    prime: np.uint64,
    loads: Loads,
    slots: KeyHashes,
    owners: WorkerIds,
    out: WorkerIds,
) -> int:
    """As above, but a new key goes to the least loaded of its choices."""
    added = 0
    for i in range(keys.size):
        slot = slot_of(slots, owners, keys[i])
        if owners[slot] == FREE:
            slots[slot] = keys[i]
            owners[slot] = least_loaded(keys[i], choices, distinct, loads, prime)
            added += 1
        worker = owners[slot]
        loads[worker] += 1
        out[i] = worker
    return added


@compiled
def place_heaviest_first(counts: Loads, loads: Loads, out: WorkerIds) -> None:
    """Place keys, given by falling count, each on the least loaded worker, by a binary heap."""
    workers = loads.size
    heap = np.arange(workers)
    for i in range(counts.size):
        worker = heap[0]
        out[i] = worker
        loads[worker] += counts[i]
        parent = 0
        while True:
            child = 2 * parent + 1
            if child >= workers:
                break
            if child + 1 < workers and _before(heap[child + 1], heap[child], loads):
                child += 1
            if not _before(heap[child], worker, loads):
                break
            heap[parent] = heap[child]
            parent = child
        heap[parent] = worker


@compiled
def _before(a: np.int64, b: np.int64, loads: Loads) -> bool:
    """Whether worker `a` is less loaded than `b`; the lower number wins a tie."""
    return bool(loads[a] < loads[b] or (loads[a] == loads[b] and a < b))
