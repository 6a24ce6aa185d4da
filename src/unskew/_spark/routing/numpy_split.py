"""The router of a planned split in numpy alone: a Python worker need not load the compiler.

Loading it takes a worker about a second of CPU, and there is one worker for each slot. The rows go
where `PlannedSplitRouter` sends them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_27, _30, _31, _32 = map(np.uint64, (27, 30, 31, 32))
_LOW = np.uint64(0xFFFFFFFF)
_GOLDEN_32 = np.uint64(0x9E3779B9)
_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)


class NumpySplit(NamedTuple):
    """A plan's table as arrays: keys in ascending order, the parts of each, draws of each part."""

    workers: int
    keys: Words
    starts: NDArray[np.int64]
    owners: NDArray[np.int32]
    thresholds: Words
    aliases: NDArray[np.int32]

    def router(self, source: int = 0, sources: int = 1) -> NumpySplitRouter:
        """Start the memory of one source: the next draw of each planned key."""
        return NumpySplitRouter(
            self, _mixed(self.keys + np.uint64(source * _GOLDEN % 2**64)) >> _32
        )


class NumpySplitRouter:
    """One source's next draw for each planned key, so that the shares come out level."""

    def __init__(self, turns: NumpySplit, draws: Words) -> None:
        self.turns = turns
        self.draws = draws

    def route(self, hashes: Words) -> NDArray[np.int32]:
        """The worker of every key, in order."""
        turns = self.turns
        out = (((hashes >> _32) * np.uint64(turns.workers)) >> _32).astype(np.int32)
        if not turns.keys.size:
            return out
        entries = np.minimum(np.searchsorted(turns.keys, hashes), turns.keys.size - 1)
        rows = np.flatnonzero(turns.keys[entries] == hashes)
        out[rows] = self._owners(entries[rows])
        return out

    def _owners(self, entries: NDArray[np.int64]) -> NDArray[np.int32]:
        _, _, starts, owners, thresholds, aliases = self.turns
        scaled = self._next_draws(entries) * np.diff(starts).astype(np.uint64)[entries]
        parts = starts[entries] + (scaled >> _32).astype(np.int64)
        kept: Any = (scaled & _LOW) < thresholds[parts]
        return np.where(kept, owners[parts], aliases[parts])

    def _next_draws(self, entries: NDArray[np.int64]) -> Words:
        counts = np.bincount(entries, minlength=self.draws.size)
        order = np.argsort(entries, kind="stable")
        # How many rows of the same key came before, in this batch.
        earlier = np.empty(entries.size, dtype=np.uint64)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        earlier[order] = (np.arange(entries.size) - firsts).astype(np.uint64)
        draws = (self.draws[entries] + earlier * _GOLDEN_32) & _LOW
        self.draws = (self.draws + counts.astype(np.uint64) * _GOLDEN_32) & _LOW
        return draws


def _mixed(words: Words) -> Words:
    words = (words ^ (words >> _30)) * _MULTIPLIER_1
    words = (words ^ (words >> _27)) * _MULTIPLIER_2
    return words ^ (words >> _31)
