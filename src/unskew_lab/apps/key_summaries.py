"""A SpaceSaving summary as an aggregate: the heaviest keys of the rows that one worker was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from unskew.hashing import hash_keys
from unskew.sketches.space_saving import SpaceSaving

Counters: TypeAlias = dict[str | None, tuple[int, int]]
"""By key: an estimate that is never too low, and by how much it may be too high."""


@dataclass(frozen=True)
class Summary:
    """At most `counters` keys of a column with their estimates and errors."""

    column: str
    counters: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys."""
        return (self.column,)

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """An array of keys with estimate and error."""
        fields = [("key", types[0]), ("estimate", pa.int64()), ("error", pa.int64())]
        return pa.list_(pa.struct(fields))

    def zero(self) -> Counters:
        """No rows, and every counter free."""
        return {}

    def add(self, state: Counters, rows: pa.RecordBatch) -> Counters:
        """The counters of some more rows, merged with those so far."""
        keys = rows.column(0)
        hashes = hash_keys(keys)
        sketch = SpaceSaving(self.counters)
        sketch.add(hashes)
        found = sketch.frequent()
        seen, first = np.unique(hashes, return_index=True)
        names = keys.take(pa.array(first[np.searchsorted(seen, found.keys)])).to_pylist()
        pairs = zip(found.counts.tolist(), found.errors.tolist(), strict=True)
        return self.merge(state, dict(zip(names, pairs, strict=True)))

    def merge(self, state: Counters, other: Counters) -> Counters:
        """One summary of the rows of both, in as many counters.

        A key that one of them lacks may have had as many rows there as its lowest counter; none,
        where a counter is free.
        """
        low, lower = self._missed(state), self._missed(other)
        both = {}
        for key in {**state, **other}:
            mine, theirs = state.get(key, (low, low)), other.get(key, (lower, lower))
            both[key] = (mine[0] + theirs[0], mine[1] + theirs[1])
        kept = sorted(both, key=lambda key: (-both[key][0], both[key][1], str(key)))
        return {key: both[key] for key in kept[: self.counters]}

    def result(self, state: Counters) -> list[dict[str, Any]]:
        """The heaviest first."""
        return [
            {"key": key, "estimate": estimate, "error": error}
            for key, (estimate, error) in state.items()
        ]

    def _missed(self, state: Counters) -> int:
        full = len(state) == self.counters
        return min(estimate for estimate, _ in state.values()) if full else 0
