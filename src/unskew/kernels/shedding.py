"""Taking just enough off overloaded workers, at the least price in moved state and entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import WorkerIds, compiled

# Rows and workers are passed on as 64-bit integers only: numba compiles a helper once for every
# combination of integer types that it meets.
Amounts = NDArray[np.float64]
Rows = NDArray[np.int64]

COVERS = 64
"""How many keys to look at for the one that covers the rest of an excess."""
IMPROVED = 512
"""A worker with so few keys is worth a second look at which of them move."""


class Ledger(NamedTuple):
    """The columns of the keys that every step reads, and the owners and loads that it changes."""

    cost: Amounts
    memory: Amounts
    previous: WorkerIds
    home: WorkerIds
    owner: WorkerIds
    loads: Amounts


@compiled
def price(
    row: int,
    worker: int,
    keys: Ledger,
    entry: float,
) -> float:
    """What it costs to have the key on `worker`: its state if it moves, an entry if not home."""
    total = 0.0
    if worker != keys.previous[row]:
        total += keys.memory[row]
    if worker != keys.home[row]:
        total += entry
    return total


@compiled
def least_loaded_but(worker: int, keys: Ledger) -> int:
    """The least loaded of the other workers, or `worker` if there is no other."""
    best = worker
    for other in range(keys.loads.size):
        if other != worker and (best == worker or keys.loads[other] < keys.loads[best]):
            best = other
    return best


@compiled
def cheapest_place(
    row: int,
    keys: Ledger,
    entry: float,
    limit: float,
) -> int:
    """Where the key fits at the least price: its old worker, home, the least loaded; or −1."""
    here = int(keys.owner[row])
    best = -1
    best_price = np.inf
    least = least_loaded_but(here, keys)
    for turn in range(3):
        candidate = least
        if turn == 0:
            candidate = int(keys.previous[row])
        elif turn == 1:
            candidate = int(keys.home[row])
        if (
            candidate == here
            or candidate >= keys.loads.size
            or keys.loads[candidate] + keys.cost[row] > limit
        ):
            continue
        candidate_price = price(row, candidate, keys, entry)
        if candidate_price < best_price:
            best, best_price = candidate, candidate_price
    return best


@compiled
def move(row: int, worker: int, keys: Ledger) -> None:
    """Give the key to `worker`."""
    keys.loads[keys.owner[row]] -= keys.cost[row]
    keys.loads[worker] += keys.cost[row]
    keys.owner[row] = worker


@compiled
def _largest_room(worker: int, keys: Ledger, limit: float) -> float:
    """The most that any other worker can take."""
    return limit - keys.loads[least_loaded_but(worker, keys)]


@compiled
def _moving_price(row: int, keys: Ledger, entry: float) -> float:
    """What it takes to move the key to a worker that is neither its old one nor its home."""
    here = price(row, int(keys.owner[row]), keys, entry)
    return keys.memory[row] + entry - here


@compiled
def _cover(
    lightest_first: Rows,
    taken: NDArray[np.bool_],
    mine: Rows,
    excess: float,
    room: float,
    keys: Ledger,
    entry: float,
) -> tuple[int, float]:
    """The cheapest of the lightest keys that make up for all of `excess`, and its price."""
    low, high = 0, lightest_first.size
    while low < high:
        middle = (low + high) // 2
        if keys.cost[mine[lightest_first[middle]]] < excess:
            low = middle + 1
        else:
            high = middle
    best, best_price = -1, np.inf
    for i in range(low, min(low + COVERS, lightest_first.size)):
        at = lightest_first[i]
        if keys.cost[mine[at]] > room:
            break
        key_price = _moving_price(mine[at], keys, entry)
        if not taken[at] and key_price < best_price:
            best, best_price = at, key_price
    return best, best_price


@compiled
def _select(mine: Rows, worker: int, keys: Ledger, entry: float, limit: float) -> tuple[Rows, int]:
    """Keys that together just make up for the excess of `worker`, as positions in `mine`.

    They are the first so many that fit into what is left of the excess, and one key that covers
    the rest; how many come first is whatever makes the whole cheapest. Returns them in the order
    of taking, with how many to take.
    """
    slack = limit * 1e-12
    excess = keys.loads[worker] - limit
    room = _largest_room(worker, keys, limit)
    lightest_first = np.argsort(keys.cost[mine], kind="mergesort")
    taken = np.zeros(mine.size, dtype=np.bool_)
    order = np.empty(mine.size + 1, dtype=np.int64)
    number, spent = 0, 0.0
    best_number, best_last, best_price = -1, -1, np.inf
    for i in range(mine.size + 1):
        if i < mine.size:
            cost = keys.cost[mine[i]]
            if cost > excess + slack or cost > room or cost == 0.0:
                continue
        last, last_price = _cover(lightest_first, taken, mine, excess, room, keys, entry)
        if spent + last_price < best_price:
            best_number, best_last, best_price = number, last, spent + last_price
        if i == mine.size:
            break
        taken[i] = True
        order[number] = i
        number += 1
        spent += _moving_price(mine[i], keys, entry)
        excess -= cost
        if excess <= slack or spent >= best_price:
            if spent < best_price:
                best_number, best_last = number, -1
            break
    if best_number < 0:
        return order, number
    if best_last >= 0:
        order[best_number] = best_last
        best_number += 1
    return order, best_number


@compiled
def _improve(mine: Rows, worker: int, keys: Ledger, entry: float, limit: float) -> None:
    """Give one of the keys taken back for another that does as well at a lower price."""
    for _ in range(mine.size):
        room = limit - keys.loads[worker]
        best_back, best_row, best_price = -1, -1, -1e-12 * limit
        for i in range(mine.size):
            back = mine[i]
            there = int(keys.owner[back])
            if there == worker:
                continue
            saved = price(back, there, keys, entry) - price(back, worker, keys, entry)
            for j in range(-1, mine.size):
                row = mine[j] if j >= 0 else -1
                cost = keys.cost[row] if j >= 0 else 0.0
                if j >= 0 and keys.owner[row] != worker:
                    continue
                heavier = cost - keys.cost[back]
                if heavier < -room or keys.loads[there] + heavier > limit:
                    continue
                extra = -saved
                if j >= 0:
                    extra += price(row, there, keys, entry) - price(row, worker, keys, entry)
                if extra < best_price:
                    best_back, best_row, best_price = back, row, extra
        if best_back < 0:
            return
        there = int(keys.owner[best_back])
        move(best_back, worker, keys)
        if best_row >= 0:
            move(best_row, there, keys)


@compiled
def shed_excess(
    rows: Rows,
    offsets: NDArray[np.int64],
    shedding: Rows,
    keys: Ledger,
    entry: float,
    limit: float,
) -> None:
    """Bring each worker of `shedding` under `limit` with keys that just make up for its excess.

    `rows` holds the keys of `shedding[i]` between `offsets[i]` and `offsets[i + 1]`, the most
    cost for its price first. What moves is as good as the excess itself, and never a hot key
    where a lukewarm one will do.
    """
    for i in range(shedding.size):
        worker = shedding[i]
        mine = rows[offsets[i] : offsets[i + 1]]
        order, number = _select(mine, worker, keys, entry, limit)
        # The heaviest goes first, while there is room for it.
        chosen = mine[order[:number]]
        for at in np.argsort(-keys.cost[chosen], kind="mergesort"):
            place = cheapest_place(chosen[at], keys, entry, limit)
            if place >= 0:
                move(chosen[at], place, keys)
        for j in range(mine.size):
            if keys.loads[worker] <= limit * (1 + 1e-12):
                break
            if keys.owner[mine[j]] == worker and keys.cost[mine[j]] > 0.0:
                place = cheapest_place(mine[j], keys, entry, limit)
                if place >= 0:
                    move(mine[j], place, keys)
        if mine.size <= IMPROVED:
            _improve(mine, worker, keys, entry, limit)


@compiled
def send_back(
    rows: Rows,
    targets: WorkerIds,
    keys: Ledger,
    limit: float,
    enough: int,
) -> int:
    """Send keys to their targets, in order, where they fit, until `enough` went; how many did."""
    went = 0
    for i in range(rows.size):
        if went == enough:
            break
        row = rows[i]
        target = int(targets[i])
        if target == keys.owner[row] or keys.loads[target] + keys.cost[row] > limit:
            continue
        move(row, target, keys)
        went += 1
    return went
