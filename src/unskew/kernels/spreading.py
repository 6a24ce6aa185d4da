"""Routes that ignore the key: a pure function of a row's place in its source's stream."""

from __future__ import annotations

import numpy as np

from unskew.kernels import Loads, WorkerIds, compiled
from unskew.kernels.mixing import below, below_low, salted

_ONE = np.uint64(1)


@compiled
def send_round_robin(first: int, workers: int, out: WorkerIds) -> None:
    """Deal rows to workers in turn, the first to worker `first`."""
    worker = first
    for i in range(out.size):
        out[i] = worker
        worker += 1
        if worker == workers:
            worker = 0


@compiled
def send_to_less_loaded_of_two(
    seed: np.uint64, rows: np.uint64, distinct: bool, loads: Loads, out: WorkerIds
) -> None:
    """Draw two workers for every row, `rows` having been routed before; the less loaded has it."""
    workers = np.uint64(loads.size)
    for i in range(out.size):
        word = salted(seed, rows + np.uint64(i))
        first = np.int64(below(word, workers))
        if distinct and workers > _ONE:
            second = np.int64(below_low(word, workers - _ONE))
            second += second >= first
        else:
            second = np.int64(below_low(word, workers))
        worker = second if loads[second] < loads[first] else first
        loads[worker] += 1
        out[i] = worker
