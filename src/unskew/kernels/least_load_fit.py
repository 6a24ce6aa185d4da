"""Least-load fit decreasing over records: a record is `count` keys of one cost on one worker.

The full key space is the case `count == 1`, the compact form the general one. Costs only fall
while keys are placed, which makes the whole run one pass: a key that was placed, or that is not
lighter than the key in hand, can never be exchanged again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import WorkerIds, compiled

Amounts = NDArray[np.float64]
Counts = NDArray[np.int64]
Rows = NDArray[np.int64]

SLACK = 1e-9
"""Equal sums in another order differ by rounding; this part of the limit forgives it."""


@compiled
def group_by_worker(
    order: Rows, owner: WorkerIds, workers: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows of each worker, in `order`: row numbers and the offsets of the workers in them."""
    offsets = np.zeros(workers + 1, dtype=np.int64)
    for i in range(owner.size):
        offsets[owner[i] + 1] += 1
    for worker in range(workers):
        offsets[worker + 1] += offsets[worker]
    at = offsets[:-1].copy()
    rows = np.empty(order.size, dtype=np.int32)
    for i in range(order.size):
        row = order[i]
        worker = owner[row]
        rows[at[worker]] = row
        at[worker] += 1
    return rows, offsets


@compiled
def add_up(amount: Amounts, count: Counts, owner: WorkerIds, out: Amounts) -> None:
    """Add `amount * count` of every row to its owner."""
    for i in range(owner.size):
        out[owner[i]] += amount[i] * count[i]


@compiled
def _settle(worker: int, loads: Amounts, order: Rows, place: Rows) -> None:
    """Move `worker` to where its new load belongs in `order`; the lower number wins a tie."""
    at = place[worker]
    while at > 0:
        other = order[at - 1]
        if loads[other] < loads[worker] or (loads[other] == loads[worker] and other < worker):
            break
        order[at], place[other] = other, at
        at -= 1
    while at < order.size - 1:
        other = order[at + 1]
        if loads[other] > loads[worker] or (loads[other] == loads[worker] and other > worker):
            break
        order[at], place[other] = other, at
        at += 1
    order[at], place[worker] = worker, at


@compiled
def _take(
    row: int,
    wanted: float,
    cost: Amounts,
    remaining: Counts,
    pending: Counts,
) -> float:
    """Disassociate as many keys of `row` as cost at least `wanted`; returns what they cost."""
    number = min(remaining[row], np.int64(np.ceil(wanted / cost[row])))
    remaining[row] -= number
    pending[row] += number
    return number * cost[row]


@compiled
def _shed(
    worker: int,
    wanted: float,
    below: float,
    cost: Amounts,
    rows: NDArray[np.int32],
    head: Rows,
    end: int,
    remaining: Counts,
    pending: Counts,
) -> float:
    """Disassociate keys lighter than `below`, first in line first, until `wanted` is met."""
    taken = 0.0
    while taken < wanted and head[worker] < end:
        row = rows[head[worker]]
        if remaining[row] == 0 or cost[row] >= below or cost[row] == 0.0:
            head[worker] += 1
            continue
        taken += _take(row, wanted - taken, cost, remaining, pending)
    return taken


@compiled
def _grown(moves: NDArray[np.int64], used: int) -> NDArray[np.int64]:
    if used < moves.shape[0]:
        return moves
    larger = np.empty((2 * moves.shape[0], 3), dtype=np.int64)
    larger[:used] = moves
    return larger


@compiled
def fit_least_loaded(
    cost: Amounts,
    count: Counts,
    owner: WorkerIds,
    heaviest_first: Rows,
    rows: NDArray[np.int32],
    offsets: NDArray[np.int64],
    limit: float,
    loads: Amounts,
) -> tuple[NDArray[np.int64], int]:
    """Free the overloaded workers, then give each freed key to the least loaded that takes it.

    `rows` holds each worker's records in the order in which it gives them up. A worker takes a
    key that fits under `limit`, or for which lighter keys can make room (those are then placed
    in turn). A key that nobody takes goes to the least loaded. Changes `loads`; returns the
    moves (record, worker, number of keys) and how many keys nobody would take.
    """
    workers = loads.size
    slack = limit * SLACK
    remaining = count.copy()
    pending = np.zeros(count.size, dtype=np.int64)
    head = offsets[:-1].copy()
    for worker in range(workers):
        if loads[worker] > limit + slack:
            loads[worker] -= _shed(
                worker, loads[worker] - limit - slack, np.inf, cost, rows, head,
                offsets[worker + 1], remaining, pending,
            )  # fmt: skip
    lighter = np.zeros(workers)
    add_up(cost, remaining, owner, lighter)
    order = np.argsort(loads, kind="mergesort")
    place = np.empty(workers, dtype=np.int64)
    place[order] = np.arange(workers)
    moves = np.empty((1024, 3), dtype=np.int64)
    used = 0
    forced = 0
    next_lighter = 0
    for i in range(heaviest_first.size):
        row = heaviest_first[i]
        key_cost = cost[row]
        if key_cost == 0.0:
            break
        while next_lighter < heaviest_first.size and cost[heaviest_first[next_lighter]] >= key_cost:
            passed = heaviest_first[next_lighter]
            lighter[owner[passed]] -= remaining[passed] * cost[passed]
            next_lighter += 1
        while pending[row] > 0:
            taker = -1
            number = np.int64(1)
            for position in range(workers):
                worker = order[position]
                room = limit + slack - loads[worker]
                if room >= key_cost:
                    number = min(pending[row], np.int64(room / key_cost))
                    if position + 1 < workers:
                        ahead = loads[order[position + 1]] - loads[worker]
                        number = min(number, np.int64(ahead / key_cost) + 1)
                    taker = worker
                    break
                if lighter[worker] >= key_cost - room:
                    freed = _shed(
                        worker, key_cost - room, key_cost, cost, rows, head,
                        offsets[worker + 1], remaining, pending,
                    )  # fmt: skip
                    loads[worker] -= freed
                    lighter[worker] -= freed
                    taker = worker
                    break
            if taker < 0:
                taker = order[0]
                forced += 1
            pending[row] -= number
            loads[taker] += number * key_cost
            _settle(taker, loads, order, place)
            moves = _grown(moves, used)
            moves[used, 0], moves[used, 1], moves[used, 2] = row, taker, number
            used += 1
    return moves[:used], forced


@compiled
def give_heaviest_to_least_loaded(
    cost: Amounts, heaviest_first: Rows, loads: Amounts, out: WorkerIds
) -> None:
    """Place all keys again, the heaviest first, on the least loaded worker."""
    order = np.argsort(loads, kind="mergesort")
    place = np.empty(loads.size, dtype=np.int64)
    place[order] = np.arange(loads.size)
    for i in range(heaviest_first.size):
        row = heaviest_first[i]
        worker = order[0]
        out[row] = worker
        loads[worker] += cost[row]
        _settle(worker, loads, order, place)
