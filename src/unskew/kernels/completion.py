"""When each row is done: workers with queues, served first come first served, in virtual time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, Loads, WorkerIds, compiled
from unskew.kernels.cost_pair import Floats
from unskew.kernels.proactive import (
    EPOCH,
    SEND_ALL,
    STATE,
    Scheduler,
    Tracker,
    assign_one,
    execute_one,
    reset,
    take_matrices,
    take_reply,
)

# Where the numbers of a proactive run stand.
MATRICES, REPLIES, REQUESTS = 0, 1, 2


@compiled
def finish_times(
    arrivals: Floats,
    costs: Floats,
    factors: Floats,
    phases: NDArray[np.int32],
    workers: WorkerIds,
    out: Floats,
) -> None:
    """When each row is done, given its worker. `factors` are per phase and worker."""
    free = np.zeros(factors.shape[1])
    for i in range(workers.size):
        worker = workers[i]
        start = max(arrivals[i], free[worker])
        free[worker] = start + costs[i] * factors[phases[i], worker]
        out[i] = free[worker]


@compiled
def run_proactive(
    keys: KeyHashes,
    arrivals: Floats,
    costs: Floats,
    factors: Floats,
    phases: NDArray[np.int32],
    window: int,
    tolerance: float,
    by_finish: bool,
    scheduler: Scheduler,
    trackers: Tracker,
    workers: WorkerIds,
    out: Floats,
    states: NDArray[np.int8],
    heard: NDArray[np.bool_],
    messages: Loads,
) -> None:
    """Schedule rows as they arrive; messages of workers arrive the moment a row is done.

    Workers reply with the time they have spent on rows or, `by_finish`, with the time of day.
    `states[i]` is the scheduler's state when row i came, `heard[i]` whether matrices had come in
    since the row before. `messages` counts what was sent besides rows.
    """
    count = scheduler.estimates.size
    free = np.zeros(count)
    first = np.full(count, -1)
    last = np.full(count, -1)
    link = np.full(keys.size, -1)
    epochs = np.full(keys.size, -1)
    asked = np.zeros(keys.size)
    for i in range(keys.size):
        while True:
            done = _next_done(first, out, arrivals[i])
            if done < 0:
                break
            row = first[done]
            first[done] = link[row]
            tracker = _tracker_of(trackers, done)
            spent = costs[row] * factors[phases[row], done]
            if execute_one(keys[row], spent, window, tolerance, tracker):
                take_matrices(done, tracker.counts, tracker.costs, scheduler)
                reset(tracker)
                heard[i] = True
                messages[MATRICES] += 1
            if epochs[row] >= 0:
                clock = out[row] if by_finish else tracker.spent[0]
                take_reply(done, epochs[row], clock - asked[row], scheduler)
                messages[REPLIES] += 1
        states[i] = scheduler.state[STATE]
        worker = assign_one(keys[i], scheduler)
        if states[i] == SEND_ALL:
            epochs[i] = scheduler.state[EPOCH]
            asked[i] = scheduler.estimates[worker]
            messages[REQUESTS] += 1
        free[worker] = max(arrivals[i], free[worker]) + costs[i] * factors[phases[i], worker]
        workers[i] = worker
        out[i] = free[worker]
        if first[worker] < 0:
            first[worker] = i
        else:
            link[last[worker]] = i
        last[worker] = i


@compiled
def _next_done(first: Loads, finish: Floats, now: float) -> int:
    """The worker whose oldest row is done first, by `now`; -1 if none is."""
    found = -1
    for worker in range(first.size):
        row = first[worker]
        if row >= 0 and finish[row] <= now and (found < 0 or finish[row] < finish[first[found]]):
            found = worker
    return found


@compiled
def _tracker_of(trackers: Tracker, worker: int) -> Tracker:
    return Tracker(
        trackers.counts[worker],
        trackers.costs[worker],
        trackers.snapshot[worker],
        trackers.state[worker],
        trackers.spent[worker],
        trackers.words,
    )
