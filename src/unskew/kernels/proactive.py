"""Scheduling by expected cost: the two state machines, a row or a message at a time.

The routers and the simulator run these very functions, so a simulated schedule is the real one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, Loads, WorkerIds, compiled
from unskew.kernels.cost_pair import (
    Floats,
    add_one,
    cost_of,
    mean_cost,
    relative_error,
    take_snapshot,
)

# States of the scheduler, and where its numbers stand in `Scheduler.state`.
ROUND_ROBIN, SEND_ALL, WAIT_ALL, RUN = 0, 1, 2, 3
STATE, TURN, SENT, EPOCH, SINCE, RESYNC = 0, 1, 2, 3, 4, 5

# States of a worker's tracker, and where its numbers stand in `Tracker.state`.
START, STABILIZING = 0, 1
TRACKING, ROWS = 0, 1


class Scheduler(NamedTuple):
    """One source's memory: the matrices of every worker and what it believes they have to do."""

    counts: Loads
    costs: Floats
    means: Floats
    known: NDArray[np.bool_]
    estimates: Floats
    deltas: Floats
    replied: NDArray[np.bool_]
    state: Loads
    words: KeyHashes


class Tracker(NamedTuple):
    """One worker's memory: its matrices, its last snapshot and all the time it has spent."""

    counts: Loads
    costs: Floats
    snapshot: Floats
    state: Loads
    spent: Floats
    words: KeyHashes


@compiled
def assign_one(key: np.uint64, scheduler: Scheduler) -> np.int64:
    """The worker of the next row. In SEND_ALL the row carries a request to that worker.

    In RUN, errors of the estimates pile up: after `RESYNC` rows (0: never) the true times are
    asked for again, new matrices or not.
    """
    state = scheduler.state
    workers = scheduler.estimates.size
    if state[STATE] == ROUND_ROBIN:
        worker = state[TURN]
        state[TURN] = worker + 1 if worker + 1 < workers else 0
        return worker
    if state[STATE] == SEND_ALL:
        worker = state[SENT]
        state[SENT] += 1
        if state[SENT] == workers:
            state[STATE] = WAIT_ALL
    else:
        worker = np.argmin(scheduler.estimates)
    scheduler.estimates[worker] += cost_of(
        key,
        scheduler.counts[worker],
        scheduler.costs[worker],
        scheduler.words,
        scheduler.means[worker],
    )
    if state[STATE] == RUN:
        state[SINCE] += 1
        if state[SINCE] == state[RESYNC]:
            _ask_all(scheduler)
    return np.int64(worker)


@compiled
def assign_until_asking(keys: KeyHashes, scheduler: Scheduler, out: WorkerIds) -> int:
    """The workers of rows that carry no request, in order; how many came before one that does."""
    for i in range(keys.size):
        if scheduler.state[STATE] == SEND_ALL:
            return i
        out[i] = assign_one(keys[i], scheduler)
    return keys.size


@compiled
def _ask_all(scheduler: Scheduler) -> None:
    """Begin a synchronisation; replies to an older one no longer count."""
    state = scheduler.state
    state[STATE] = SEND_ALL
    state[SENT] = 0
    state[EPOCH] += 1
    scheduler.replied[:] = False


@compiled
def take_matrices(worker: int, counts: Loads, costs: Floats, scheduler: Scheduler) -> None:
    """A worker has sent its matrices: ask all for their true times, once all are known."""
    scheduler.counts[worker] = counts
    scheduler.costs[worker] = costs
    scheduler.means[worker] = mean_cost(counts, costs)
    scheduler.known[worker] = True
    if scheduler.state[STATE] != ROUND_ROBIN or scheduler.known.all():
        _ask_all(scheduler)


@compiled
def take_reply(worker: int, epoch: int, delta: float, scheduler: Scheduler) -> None:
    """A worker says by how much the estimate was wrong; when all have, they are corrected.

    Replies to requests of an epoch that a newer one replaced are ignored.
    """
    state = scheduler.state
    if epoch != state[EPOCH] or state[STATE] == RUN:
        return
    scheduler.deltas[worker] = delta
    scheduler.replied[worker] = True
    if state[STATE] == WAIT_ALL and scheduler.replied.all():
        scheduler.estimates[:] += scheduler.deltas
        state[STATE] = RUN
        state[SINCE] = 0


@compiled
def execute_one(
    key: np.uint64, cost: float, window: int, tolerance: float, tracker: Tracker
) -> bool:
    """A worker has executed a row. True if its matrices are stable: send them, then `reset`."""
    add_one(key, cost, tracker.counts, tracker.costs, tracker.words)
    tracker.spent[0] += cost
    state = tracker.state
    state[ROWS] += 1
    if state[ROWS] < window:
        return False
    state[ROWS] = 0
    if state[TRACKING] == STABILIZING:
        moved = relative_error(tracker.counts, tracker.costs, tracker.snapshot)
        if moved <= tolerance:
            state[TRACKING] = START
            return True
    take_snapshot(tracker.counts, tracker.costs, tracker.snapshot)
    state[TRACKING] = STABILIZING
    return False


@compiled
def execute_until_stable(
    keys: KeyHashes, costs: Floats, window: int, tolerance: float, tracker: Tracker
) -> int:
    """Execute rows until the matrices are to be sent; how many were executed, negative if so."""
    for i in range(keys.size):
        if execute_one(keys[i], costs[i], window, tolerance, tracker):
            return -(i + 1)
    return keys.size


@compiled
def reset(tracker: Tracker) -> None:
    """Forget the matrices that were sent."""
    tracker.counts[:] = 0
    tracker.costs[:] = 0.0


@compiled
def assign_by_known_costs(costs: Floats, factors: Floats, loads: Floats, out: WorkerIds) -> None:
    """Send every row to the worker with the least cost so far; `factors` are the workers' own."""
    for i in range(costs.size):
        worker = np.argmin(loads)
        loads[worker] += costs[i] * factors[worker]
        out[i] = worker
