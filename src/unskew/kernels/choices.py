"""Which workers may take a key, and the least loaded of them.

The distinct choices of a key walk the residues of a prime p >= workers: start anywhere, go on by
a stride that is not 0, skip what is not a worker. Each walk is a permutation of the workers, so
choices never repeat, each costs O(1), and none is stored.
"""

from __future__ import annotations

import numpy as np

from unskew.kernels import KeyHashes, Loads, WorkerIds, compiled, tight
from unskew.kernels.mixing import below, below_low, mix, salted

_ONE = np.uint64(1)


def prime_at_least(number: int) -> int:
    """The smallest prime that is not below `number`.

    >>> [prime_at_least(n) for n in (1, 2, 8, 50)]
    [2, 2, 11, 53]
    """
    candidate = max(number, 2)
    while any(candidate % d == 0 for d in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate


@compiled
def stride_of(mixed: np.uint64, prime: np.uint64) -> np.uint64:
    """How far apart the choices of a key lie: 1..prime-1, from the lower half of its mixed hash."""
    return _ONE + below_low(mixed, prime - _ONE)


@compiled
def first_choice(mixed: np.uint64, workers: np.uint64, prime: np.uint64) -> np.uint64:
    """The first worker on a key's walk."""
    position = below(mixed, prime)
    if position < workers:
        return position
    return next_choice(position, stride_of(mixed, prime), workers, prime)


@compiled
def next_choice(
    position: np.uint64, stride: np.uint64, workers: np.uint64, prime: np.uint64
) -> np.uint64:
    """The worker after `position` on a walk."""
    while True:
        position += stride
        # The sum wraps half of the time: a product costs less than a branch guessed wrong.
        position -= prime * np.uint64(position >= prime)
        if position < workers:
            return position


@compiled
def candidates(
    key: np.uint64, distinct: bool, workers: np.uint64, prime: np.uint64, out: WorkerIds
) -> None:
    """Write the first `out.size` choices of `key`."""
    if distinct:
        mixed = mix(key)
        stride = stride_of(mixed, prime)
        position = first_choice(mixed, workers, prime)
        for i in range(out.size):
            out[i] = np.int32(position)
            position = next_choice(position, stride, workers, prime)
    else:
        for i in range(out.size):
            out[i] = np.int32(below(salted(key, np.uint64(i)), workers))


@compiled
def least_loaded(
    key: np.uint64,
    choices: int,
    distinct: bool,
    loads: Loads,
    prime: np.uint64,
) -> np.int64:
    """The least loaded of a key's choices; the earlier choice wins a tie."""
    if distinct:
        return least_loaded_on_walk(mix(key), choices, loads, prime)
    workers = np.uint64(loads.size)
    best = np.int64(below(mix(key), workers))
    for i in range(1, choices):
        best = _less_loaded(best, below(salted(key, np.uint64(i)), workers), loads)
    return best


@compiled
def least_loaded_on_walk(
    mixed: np.uint64, choices: int, loads: Loads, prime: np.uint64
) -> np.int64:
    """The least loaded of the distinct choices of a key, whose `mix` the caller has."""
    workers = np.uint64(loads.size)
    position = first_choice(mixed, workers, prime)
    best = np.int64(position)
    if choices == 1:
        return best
    # Two choices are the common case, and faster out of the loop.
    stride = stride_of(mixed, prime)
    position = next_choice(position, stride, workers, prime)
    best = _less_loaded(best, position, loads)
    for _ in range(choices - 2):
        position = next_choice(position, stride, workers, prime)
        best = _less_loaded(best, position, loads)
    return best


@compiled
def _less_loaded(best: np.int64, position: np.uint64, loads: Loads) -> np.int64:
    """Branch-free: the processor would mispredict a branch half of the time."""
    other = np.int64(position)
    return best + (other - best) * (loads[other] < loads[best])


@tight
def send_to_least_loaded(
    keys: KeyHashes, choices: int, distinct: bool, prime: np.uint64, loads: Loads, out: WorkerIds
) -> None:
    """Send every key to the least loaded of its choices and count it there."""
    if distinct and choices == 2:  # worth a loop of its own: nothing else to decide per row
        for i in range(keys.size):
            worker = least_loaded_on_walk(mix(keys[i]), 2, loads, prime)
            loads[worker] += 1
            out[i] = worker
        return
    for i in range(keys.size):
        worker = least_loaded(keys[i], choices, distinct, loads, prime)
        loads[worker] += 1
        out[i] = worker


@tight
def send_by_hash(keys: KeyHashes, workers: np.uint64, out: WorkerIds) -> None:
    """Send every key where the upper half of its hash falls."""
    for i in range(keys.size):
        out[i] = np.int32(below(keys[i], workers))
