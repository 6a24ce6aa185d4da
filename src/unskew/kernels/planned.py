"""Filling workers to their share, cutting a key where one is full, and routing by the result.

A plan is a table of keys in ascending order. Key i has the parts `starts[i]..starts[i+1]-1`, each
with an owner and a share of the key's rows. Parts are drawn by Walker's alias method: a draw of 32
bits picks one part evenly and then keeps it or takes its alias, so that a draw costs the same for
two parts as for a thousand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, WorkerIds, compiled
from unskew.kernels.mixing import below, salted
from unskew.kernels.table import FREE, slot_of

Weights = NDArray[np.float64]
Offsets = NDArray[np.int64]
Draws = NDArray[np.uint64]

_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_WHOLE = float(2**32)
# Multiples of the golden ratio fall evenly into any interval, whatever the number of rows so far.
_GOLDEN_32 = np.uint64(0x9E3779B9)


@compiled
def fill_workers(
    weights: Weights,
    room: Weights,
    slack: Weights,
    starts: Offsets,
    owners: WorkerIds,
    shares: Weights,
) -> int:
    """Give each key to the worker with the most room, cutting it where that worker is full.

    A worker takes a whole key that passes its room by no more than its slack. `room` is left as
    what remains. Returns the number of parts: every cut fills a worker up, so there are at most
    `weights.size + room.size - 1`.
    """
    part = 0
    for i in range(weights.size):
        starts[i] = part
        left = weights[i]
        while True:
            worker = np.argmax(room)
            whole = left <= room[worker] + slack[worker] or part - starts[i] == room.size - 1
            taken = left if whole else room[worker]
            owners[part] = worker
            shares[part] = taken / weights[i] if weights[i] > 0 else 1.0
            part += 1
            room[worker] -= taken
            left -= taken
            if whole:
                break
    starts[weights.size] = part
    return part


@compiled
def alias_parts(
    starts: Offsets,
    owners: WorkerIds,
    shares: Weights,
    thresholds: Draws,
    aliases: WorkerIds,
) -> None:
    """Write for each part the draws (of 2**32) that keep it and the worker that gets the others."""
    for key in range(starts.size - 1):
        first = starts[key]
        parts = starts[key + 1] - first
        kept = shares[first : first + parts] * parts
        small = [i for i in range(parts) if kept[i] < 1.0]
        large = [i for i in range(parts) if kept[i] >= 1.0]
        while len(small) > 0 and len(large) > 0:
            little, much = small.pop(), large[-1]
            thresholds[first + little] = np.uint64(kept[little] * _WHOLE)
            aliases[first + little] = owners[first + much]
            kept[much] -= 1.0 - kept[little]
            if kept[much] < 1.0:
                small.append(large.pop())
        for i in small:
            thresholds[first + i] = np.uint64(_WHOLE)
            aliases[first + i] = owners[first + i]
        for i in large:
            thresholds[first + i] = np.uint64(_WHOLE)
            aliases[first + i] = owners[first + i]


@compiled
def drawn_owner(
    first: int,
    parts: int,
    draw: np.uint64,
    owners: WorkerIds,
    thresholds: Draws,
    aliases: WorkerIds,
) -> np.int32:
    """The worker that a draw of 32 bits picks for a key."""
    scaled = draw * np.uint64(parts)
    part = first + np.int64(scaled >> _32)
    if (scaled & _LOW) < thresholds[part]:
        return owners[part]
    return aliases[part]


class Index(NamedTuple):
    """Where a planned key stands in the table: an open-addressing map from key to entry."""

    slots: KeyHashes
    entries: NDArray[np.int32]


@compiled
def send_in_turn(
    keys: KeyHashes,
    seen: Draws,
    workers: np.uint64,
    index: Index,
    starts: Offsets,
    owners: WorkerIds,
    thresholds: Draws,
    aliases: WorkerIds,
    out: WorkerIds,
) -> None:
    """Send planned keys where their next draw falls, all others by hash.

    `seen` holds the next draw of each planned key; the draws of a key are evenly spread.
    """
    for i in range(keys.size):
        entry = index.entries[slot_of(index.slots, index.entries, keys[i])]
        if entry == FREE:
            out[i] = np.int32(below(keys[i], workers))
        else:
            first = starts[entry]
            out[i] = drawn_owner(
                first, starts[entry + 1] - first, seen[entry], owners, thresholds, aliases
            )
            seen[entry] = (seen[entry] + _GOLDEN_32) & _LOW


@compiled
def first_draws(planned: KeyHashes, source: np.uint64, out: Draws) -> None:
    """Where the draws of each planned key begin: elsewhere at every source."""
    for entry in range(planned.size):
        out[entry] = salted(planned[entry], source) >> _32
