"""SpaceSaving: the most frequent keys of a stream in a fixed number of counters.

A key without a counter takes over one of the lowest; counters grow by one, so `levelling` finds the
lowest in O(1) amortised time, without any order to keep up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, Loads, compiled, inlined, tight
from unskew.kernels.levelling import add_row, ground_level, lowest
from unskew.kernels.mixing import mix

_NONE = np.int32(-1)
USED, ROWS = 0, 1
"""Where `totals` keeps the number of counters in use and of rows counted."""


class Summary(NamedTuple):
    """The arrays of one summary: counters, and chains of counters by the hash of their key."""

    keys: KeyHashes
    counts: Loads
    errors: Loads
    heads: NDArray[np.int32]
    following: NDArray[np.int32]
    level: Loads
    totals: Loads


def empty_summary(capacity: int) -> Summary:
    """A summary with `capacity` counters."""
    return Summary(
        keys=np.zeros(capacity, dtype=np.uint64),
        counts=np.zeros(capacity, dtype=np.int64),
        errors=np.zeros(capacity, dtype=np.int64),
        heads=np.full(1 << (2 * capacity - 1).bit_length(), _NONE, dtype=np.int32),
        following=np.full(capacity, _NONE, dtype=np.int32),
        level=ground_level(capacity),
        totals=np.zeros(2, dtype=np.int64),
    )


@inlined
def observe(
    keys: KeyHashes,
    counts: Loads,
    errors: Loads,
    heads: NDArray[np.int32],
    following: NDArray[np.int32],
    level: Loads,
    totals: Loads,
    key: np.uint64,
    mixed: np.uint64,
) -> np.int64:
    """Count one occurrence of `key`, whose `mix` the caller has; return the counter it has now.

    `counts` of that counter is never below the true count.
    """
    totals[ROWS] += 1
    home = np.int64(mixed & np.uint64(heads.size - 1))
    counter = np.int64(heads[home])
    while counter >= 0 and keys[counter] != key:
        counter = np.int64(following[counter])
    if counter < 0:
        if totals[USED] < keys.size:
            counter = totals[USED]
            totals[USED] += 1
        else:
            counter = lowest(counts, level)
            _unlink(keys, heads, following, counter)
            errors[counter] = counts[counter]
        keys[counter] = key
        following[counter] = heads[home]
        heads[home] = np.int32(counter)
    add_row(counts, level, counter)
    return counter


@compiled
def _unlink(
    keys: KeyHashes, heads: NDArray[np.int32], following: NDArray[np.int32], counter: np.int64
) -> None:
    """Take a counter out of the chain of its key."""
    home = np.int64(mix(keys[counter]) & np.uint64(heads.size - 1))
    if heads[home] == counter:
        heads[home] = following[counter]
        return
    before = heads[home]
    while following[before] != counter:
        before = following[before]
    following[before] = following[counter]


@tight
def observe_all(summary: Summary, rows: KeyHashes) -> None:
    """Count every row's key."""
    keys, counts, errors, heads, following, level, totals = summary
    for i in range(rows.size):
        observe(keys, counts, errors, heads, following, level, totals, rows[i], mix(rows[i]))
