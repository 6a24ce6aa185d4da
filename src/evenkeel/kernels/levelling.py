"""The least loaded of all workers in O(1) amortised time.

Loads grow by one at a time, so the lowest level only rises. A cursor goes round once per level
and stops at workers that still stand on it; a full round without one lifts the level. The level
is at most the mean load, so m messages cause at most m/n rounds of n steps.
"""

from __future__ import annotations

import numpy as np

from evenkeel.kernels import KeyHashes, Loads, WorkerIds, compiled
from evenkeel.kernels.choices import least_loaded
from evenkeel.kernels.table import FREE, slot_of

CURSOR, LEVEL = 0, 1
"""Where `state` keeps the cursor and the level."""


@compiled
def lowest(loads: Loads, state: Loads) -> np.int64:
    """A least loaded worker; moves the cursor in `state` to it."""
    cursor, level = state[CURSOR], state[LEVEL]
    for _ in range(loads.size):
        if loads[cursor] <= level:
            state[CURSOR] = cursor
            return cursor
        cursor += 1
        if cursor == loads.size:
            cursor = np.int64(0)
    state[LEVEL] = loads.min()
    while loads[cursor] != state[LEVEL]:
        cursor += 1
        if cursor == loads.size:
            cursor = np.int64(0)
    state[CURSOR] = cursor
    return cursor


@compiled
def send_new_keys_to_lowest(
    keys: KeyHashes,
    loads: Loads,
    state: Loads,
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
            owners[slot] = lowest(loads, state)
            added += 1
        worker = owners[slot]
        loads[worker] += 1
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
