"""First come first served queues in virtual time: rows are accepted, served and acknowledged.

Every row that waits is really there, in a pool shared by all workers and linked into one list per
worker. Memory is therefore the backlog, not the length of the stream, and a change of speed reaches
rows that wait already.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import Loads, WorkerIds, compiled

Floats = NDArray[np.float64]

LATENCY_BINS = 4096
_BINS_PER_OCTAVE = 64
_LOWEST_OCTAVE = -31


class Queues(NamedTuple):
    """The rows that wait or are in service, and when each worker will be free.

    `finish`, `arrival`, `origin` and `link` are the pool; `spare` holds the head of the unused
    entries, `first` and `last` the ends of each worker's list (-1 where there is none).
    """

    finish: Floats
    arrival: Floats
    origin: WorkerIds
    link: Loads
    spare: Loads
    first: Loads
    last: Loads
    length: Loads
    free_at: Floats


class Tally(NamedTuple):
    """What is counted while rows are served; the driver reads and clears it at every sample."""

    assigned: Loads
    work: Floats
    completed: Loads
    latency: Floats
    histogram: Loads


class Signals(NamedTuple):
    """Which workers have something to say, and which sources have heard it this slot.

    `state` is 1 for busy, -1 for idle, 0 for neither. `heard[source, worker]` is the last slot in
    which an acknowledgement told it, so nothing is cleared between slots. The news since the driver
    last looked stand in `source`, `worker`, `time`, as many as `news` says.
    """

    state: NDArray[np.int8]
    heard: WorkerIds
    source: WorkerIds
    worker: WorkerIds
    time: Floats
    news: Loads


@compiled
def latency_bin(latency: float) -> int:
    """The histogram bin of a latency: 64 to the octave, hence within 1.6 %."""
    mantissa, exponent = math.frexp(latency)
    index = (exponent - _LOWEST_OCTAVE) * _BINS_PER_OCTAVE
    index += int((mantissa - 0.5) * (2 * _BINS_PER_OCTAVE))
    return min(max(index, 0), LATENCY_BINS - 1)


def latency_of_bin(index: int) -> float:
    """The middle of a histogram bin.

    >>> abs(latency_of_bin(latency_bin(3.7)) / 3.7 - 1) < 0.016
    True
    """
    octave, part = divmod(index, _BINS_PER_OCTAVE)
    return float(math.ldexp(0.5 + (part + 0.5) / (2 * _BINS_PER_OCTAVE), octave + _LOWEST_OCTAVE))


@compiled
def release(
    worker: int, now: float, slot: int, queues: Queues, tally: Tally, signals: Signals
) -> None:
    """Let the rows of `worker` go that are finished by `now`; each acknowledges to its source."""
    entry = queues.first[worker]
    while entry >= 0 and queues.finish[entry] <= now:
        latency = queues.finish[entry] - queues.arrival[entry]
        tally.completed[worker] += 1
        tally.latency[worker] += latency
        tally.histogram[latency_bin(latency)] += 1
        if signals.state[worker] != 0:
            source = queues.origin[entry]
            if signals.heard[source, worker] != slot:
                signals.heard[source, worker] = slot
                place = signals.news[0]
                signals.source[place] = source
                signals.worker[place] = worker
                signals.time[place] = queues.finish[entry]
                signals.news[0] = place + 1
        following = queues.link[entry]
        queues.link[entry] = queues.spare[0]
        queues.spare[0] = entry
        queues.length[worker] -= 1
        entry = following
    queues.first[worker] = entry
    if entry < 0:
        queues.last[worker] = -1


@compiled
def release_all(now: float, slot: int, queues: Queues, tally: Tally, signals: Signals) -> None:
    """Bring every worker to `now`."""
    for worker in range(queues.first.size):
        release(worker, now, slot, queues, tally, signals)


@compiled
def accept(
    arrivals: Floats,
    workers: WorkerIds,
    work: Floats,
    speeds: Floats,
    first_source: int,
    sources: int,
    slot: int,
    queues: Queues,
    tally: Tally,
    signals: Signals,
) -> None:
    """Queue every row at its worker, serving meanwhile what is finished there.

    `work` has one entry per row, or a single one that holds for all. Rows are dealt to sources in
    turn, `first_source` coming first; the pool must have room for all of them.
    """
    every_row = work.size == 1
    source = first_source
    for i in range(arrivals.size):
        worker = workers[i]
        now = arrivals[i]
        release(worker, now, slot, queues, tally, signals)
        todo = work[0] if every_row else work[i]
        finish = max(queues.free_at[worker], now) + todo / speeds[worker]
        queues.free_at[worker] = finish
        tally.assigned[worker] += 1
        tally.work[worker] += todo
        entry = queues.spare[0]
        queues.spare[0] = queues.link[entry]
        queues.finish[entry] = finish
        queues.arrival[entry] = now
        queues.origin[entry] = source
        queues.link[entry] = -1
        if queues.last[worker] < 0:
            queues.first[worker] = entry
        else:
            queues.link[queues.last[worker]] = entry
        queues.last[worker] = entry
        queues.length[worker] += 1
        source += 1
        if source == sources:
            source = 0


@compiled
def change_speeds(now: float, old: Floats, new: Floats, queues: Queues) -> None:
    """From `now` on the workers have other speeds, for the rows that wait already as well."""
    for worker in range(new.size):
        ratio = old[worker] / new[worker]
        if ratio == 1.0:
            continue
        queues.free_at[worker] = now + (queues.free_at[worker] - now) * ratio
        entry = queues.first[worker]
        while entry >= 0:
            queues.finish[entry] = now + (queues.finish[entry] - now) * ratio
            entry = queues.link[entry]
