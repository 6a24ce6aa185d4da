"""The router of an adaptive split: it plans each interval from a sketch of the one before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.kernels.choices import prime_at_least
from unskew.kernels.planned import Index, Offsets, Weights
from unskew.kernels.replanned import IntervalCounts, keep_and_fill, send_replanned
from unskew.partitioners.contract import KeyHashes, WorkerIds
from unskew.partitioners.key_grouping import KeyGrouping
from unskew.partitioners.split_planning import (
    TABLE,
    index_of,
    table_size,
    water_level,
)
from unskew.partitioners.static import SplitTable, parts_of
from unskew.sketches.space_saving import SpaceSaving

_SLACK = 0.005
"""By how much of its share a worker may pass it in a plan, rather than cut a key."""


@dataclass(slots=True)
class ReplanningRouter:
    """One source's plan, and what it has counted since the plan was made."""

    table: SplitTable
    index: Index
    length: int
    bound: int
    counters: int
    counted: IntervalCounts
    sketch: SpaceSaving

    @classmethod
    def start(
        cls, workers: int, table: SplitTable, length: int, epsilon: float, counters: int
    ) -> ReplanningRouter:
        """A source at the beginning of an interval of `length` rows."""
        # With few rows per worker the slack is less than a row; all rows must still find room.
        bound = max(int((1 + epsilon) * length / workers), -(-length // workers))
        counted = _nothing_counted(workers)
        sketch = SpaceSaving(counters)
        return cls(table, index_of(table), length, bound, counters, counted, sketch)

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        done = 0
        while done < keys.size:
            part = slice(done, done + self.length - self.sketch.rows)
            self._send(keys[part], out[part])
            done = part.stop
            if self.sketch.rows == self.length:
                self.table = replan(self.table, self.counted, self.sketch)
                self.index = index_of(self.table)
                self.counted = _nothing_counted(self.counted.loads.size)
                self.sketch = SpaceSaving(self.counters)
        return out

    def _send(self, keys: KeyHashes, out: WorkerIds) -> None:
        prime = np.uint64(prime_at_least(self.counted.loads.size))
        _, starts, owners, _ = self.table
        send_replanned(keys, self.bound, prime, self.index, starts, owners, self.counted, out)
        self.sketch.add(keys)


def _nothing_counted(workers: int) -> IntervalCounts:
    return IntervalCounts(np.zeros(workers, dtype=np.int64), np.zeros(workers, dtype=np.int64))


def replan(current: SplitTable, counted: IntervalCounts, sketch: SpaceSaving) -> SplitTable:
    """The plan for another interval like the one counted; keys keep their workers if these fit."""
    frequent = sketch.frequent()
    # The true count lies between the estimate and the estimate less its error: take the middle.
    weights = frequent.counts - frequent.errors / 2
    return replan_for(current, frequent.keys, weights, counted.hashed.astype(np.float64))


def replan_for(
    current: SplitTable, keys: KeyHashes, weights: Weights, hashed_loads: Weights
) -> SplitTable:
    """The plan for another interval in which `keys` have these weights.

    `hashed_loads` is what each worker would get if all keys, these included, went by their hash.
    """
    heaviest = np.argsort(-weights, kind="stable")
    keys, weights = keys[heaviest], weights[heaviest]
    workers = hashed_loads.size
    by_hash = KeyGrouping(workers).router().route(keys)
    heavy = np.bincount(by_hash, weights, minlength=workers)
    rest: Weights = np.maximum(hashed_loads - heavy, 0.0)
    fair = np.full(workers, (rest.sum() + weights.sum()) / workers)
    size = table_size(weights, by_hash, rest, fair * (1 + _SLACK / 2), min(TABLE, keys.size))
    hashed: Weights = rest + np.bincount(by_hash[size:], weights[size:], minlength=workers)
    keys, weights = keys[:size], weights[:size]
    room = np.maximum(water_level(hashed, np.ones(workers), weights.sum()) - hashed, 0.0)
    held, holders = _held(current, keys)
    starts = np.zeros(size + 1, dtype=np.int64)
    owners = np.zeros(holders.size + size + workers, dtype=np.int32)
    keep_and_fill(weights, room, fair * _SLACK, held, holders, starts, owners)
    order = np.argsort(keys)
    new_starts, positions = parts_of(starts, order)
    shares = 1.0 / np.repeat(np.diff(new_starts), np.diff(new_starts))
    return SplitTable(keys[order], new_starts, owners[positions], shares)


def _held(table: SplitTable, keys: KeyHashes) -> tuple[Offsets, WorkerIds]:
    """Which workers hold each of `keys` so far; a key that is new to the table has none."""
    entries = np.searchsorted(table.keys, keys)
    known = np.isin(keys, table.keys)
    _, positions = parts_of(table.starts, entries[known])
    parts = np.zeros(keys.size, dtype=np.int64)
    parts[known] = np.diff(table.starts)[entries[known]]
    return np.concatenate(([0], np.cumsum(parts))).astype(np.int64), table.owners[positions]
