"""Workers with a capacity of (1 + epsilon) times the mean load, which grows with the stream.

A worker is full while load >= (1 + epsilon) * m / n, m counting the current row. Loads are whole
numbers, so that is load >= limit with limit = ceil of the right-hand side, and a full worker stays
full until the limit grows. Within one limit a search may go on where it stopped the last time:
the kernels remember that, and take the very routes that a search from the start would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, Loads, WorkerIds, compiled, tight
from unskew.kernels.choices import first_choice, next_choice, stride_of
from unskew.kernels.mixing import below, mix, salted


class Progress(NamedTuple):
    """Where the search of some keys stopped: one entry per slot, overwritten on a collision."""

    keys: KeyHashes
    limits: NDArray[np.int64]
    positions: NDArray[np.uint64]


def no_progress(workers: int) -> Progress:
    """Nothing searched yet: O(workers) slots, as many as a cache holds at most."""
    slots = min(max(1024, 1 << (4 * workers - 1).bit_length()), 1 << 16)
    return Progress(
        keys=np.zeros(slots, dtype=np.uint64),
        limits=np.zeros(slots, dtype=np.int64),
        positions=np.zeros(slots, dtype=np.uint64),
    )


@tight
def send_to_first_with_room(
    keys: KeyHashes,
    epsilon: float,
    distinct: bool,
    prime: np.uint64,
    loads: Loads,
    messages: int,
    progress: Progress,
    out: WorkerIds,
) -> None:
    """Send every key to the first of its choices that is not full.

    `messages` were routed before. A position is the worker itself on a walk of distinct choices,
    and the number of the choice where choices may repeat.
    """
    workers = np.uint64(loads.size)
    share = (1.0 + epsilon) / loads.size
    mask = np.uint64(progress.keys.size - 1)
    for i in range(keys.size):
        key = keys[i]
        limit = np.int64(np.ceil(share * (messages + i + 1)))
        mixed = mix(key)
        slot = np.int64(mixed & mask)
        known = progress.limits[slot] == limit and progress.keys[slot] == key
        if distinct:
            worker, moved = _walk(mixed, known, slot, limit, loads, prime, progress)
        else:
            worker, moved = _draw(key, known, slot, limit, loads, workers, progress)
        if moved:
            progress.keys[slot] = key
            progress.limits[slot] = limit
        loads[worker] += 1
        out[i] = worker


@compiled
def _walk(
    mixed: np.uint64,
    known: bool,
    slot: np.int64,
    limit: np.int64,
    loads: Loads,
    prime: np.uint64,
    progress: Progress,
) -> tuple[np.int64, bool]:
    workers = np.uint64(loads.size)
    position = progress.positions[slot] if known else first_choice(mixed, workers, prime)
    if loads[np.int64(position)] < limit:
        return np.int64(position), False
    stride = stride_of(mixed, prime)
    while loads[np.int64(position)] >= limit:
        position = next_choice(position, stride, workers, prime)
    progress.positions[slot] = position
    return np.int64(position), True


@compiled
def _draw(
    key: np.uint64,
    known: bool,
    slot: np.int64,
    limit: np.int64,
    loads: Loads,
    workers: np.uint64,
    progress: Progress,
) -> tuple[np.int64, bool]:
    salt = progress.positions[slot] if known else np.uint64(0)
    worker = np.int64(below(salted(key, salt), workers))
    if loads[worker] < limit:
        return worker, False
    while loads[worker] >= limit:
        salt += np.uint64(1)
        worker = np.int64(below(salted(key, salt), workers))
    progress.positions[slot] = salt
    return worker, True


@tight
def send_round_the_ring(
    keys: KeyHashes,
    epsilon: float,
    points: KeyHashes,
    guide: NDArray[np.int32],
    loads: Loads,
    messages: int,
    skips: NDArray[np.int32],
    state: Loads,
    order: WorkerIds,
    out: WorkerIds,
) -> None:
    """Send every key to the first worker at or after its point of the ring that is not full.

    `loads` and `skips` are in ring order; `order` turns a position into a worker. `skips` leads
    past runs of full positions and holds for the limit in `state[0]`.
    """
    positions = loads.size
    share = (1.0 + epsilon) / positions
    shift = np.uint64(64 - np.int64(np.log2(guide.size)))
    for i in range(keys.size):
        limit = np.int64(np.ceil(share * (messages + i + 1)))
        if limit != state[0]:
            state[0] = limit
            for position in range(positions):
                skips[position] = position + 1 if position + 1 < positions else 0
        point = mix(keys[i])
        start = guide[np.int64(point >> shift)]
        while start < positions and points[start] < point:
            start += 1
        if start == positions:
            start = np.int32(0)
        position = start
        while loads[position] >= limit:
            position = skips[position]
        while start != position:
            following = skips[start]
            skips[start] = position
            start = following
        loads[position] += 1
        out[i] = order[position]
