"""Frequent keys get many choices, the rest two."""

from __future__ import annotations

import numpy as np

from evenkeel.kernels import KeyHashes, Loads, WorkerIds, compiled
from evenkeel.kernels.choices import least_loaded
from evenkeel.kernels.levelling import lowest
from evenkeel.kernels.space_saving import Summary, observe


@compiled
def send_head_wider(
    keys: KeyHashes,
    threshold: float,
    head_choices: int,
    prime: np.uint64,
    loads: Loads,
    state: Loads,
    summary: Summary,
    out: WorkerIds,
) -> None:
    """Keys seen in at least `threshold` of the rows have `head_choices` choices, others two."""
    workers = loads.size
    tail_choices = min(2, workers)
    for i in range(keys.size):
        count = observe(summary, keys[i])
        if count < threshold * summary.used[2]:
            worker = least_loaded(keys[i], tail_choices, True, loads, prime)
        elif head_choices >= workers:
            worker = lowest(loads, state)
        else:
            worker = least_loaded(keys[i], head_choices, True, loads, prime)
        loads[worker] += 1
        out[i] = worker
