"""The most frequent values of a column, by a Misra-Gries summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from unskew.aggregates.exact_values import Moment, check_plain, result_of, values_of
from unskew.aggregates.of_column import OfColumn
from unskew.errors import ParameterError


class Tracked(NamedTuple):
    """Counts of some values, each too low by at most `missed`."""

    counts: Counter[Any]
    missed: int


@dataclass(frozen=True, slots=True)
class TopK(OfColumn):
    """Count the values, dropping rare ones while more than `tracked` are held.

    Exact up to `tracked` different values; beyond, a count is too low by at most
    rows / (tracked + 1), so every value with more rows than that is found. Nulls are not counted.

    Cost: O(1) time per row, O(tracked) memory for each key.
    Paper: Agarwal et al., Mergeable summaries, section 3 (Misra-Gries).

    >>> top = TopK("x", k=1)
    >>> top.result(top.add(top.zero(), pa.record_batch({"x": ["a", "b", "a"]})))
    [{'item': 'a', 'count': 2}]
    """

    k: int = 10
    tracked: int = 10_000

    def __post_init__(self) -> None:
        OfColumn.__post_init__(self)
        if not 1 <= self.k <= self.tracked:
            raise ParameterError(f"k={self.k} is not in 1..tracked={self.tracked}")

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A list of items with their counts."""
        check_plain("top_k", self.column, types[0])
        item = pa.field("item", types[0])
        return pa.list_(pa.struct([item, pa.field("count", pa.int64())]))

    def zero(self) -> Tracked:
        """No rows."""
        return Tracked(Counter(), 0)

    def add(self, state: Tracked, rows: pa.RecordBatch) -> Tracked:
        """Count what is not null."""
        found = rows.column(0).drop_null().value_counts()
        items = _comparable(values_of(found.field("values")))
        for item, count in zip(items, found.field("counts").to_pylist(), strict=True):
            state.counts[item] += count
        return self._trimmed(state)

    def merge(self, state: Tracked, other: Tracked) -> Tracked:
        """The counts of both."""
        for item, count in other.counts.items():
            state.counts[next(iter(_comparable([item])))] += count
        return self._trimmed(Tracked(state.counts, state.missed + other.missed))

    def result(self, state: Tracked) -> list[dict[str, Any]]:
        """The `k` most frequent values, the most frequent first."""
        ranked = sorted(state.counts.items(), key=lambda pair: (-pair[1], _shown(pair[0])))
        return [{"item": result_of(item), "count": count} for item, count in ranked[: self.k]]

    def _trimmed(self, state: Tracked) -> Tracked:
        if len(state.counts) <= self.tracked:
            return state
        # Taking the same from all values takes from tracked + 1 rows for each row missed.
        drop = sorted(state.counts.values(), reverse=True)[self.tracked]
        kept = {item: count - drop for item, count in state.counts.items() if count > drop}
        return Tracked(Counter(kept), state.missed + drop)


def _shown(item: Any) -> Any:
    """What values of equal counts are ranked by: their time, or their text."""
    return item.units if isinstance(item, Moment) else str(item)


def _comparable(values: Iterable[Any]) -> Iterable[Any]:
    """Replace every NaN by the same object: unequal NaNs would be counted separately."""
    return (math.nan if value != value else value for value in values)
