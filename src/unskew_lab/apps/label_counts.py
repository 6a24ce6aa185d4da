"""How often each label occurs, as an aggregate: the counters of one word of naive Bayes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class LabelCounts:
    """A count for each value of a column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The labels."""
        return (self.column,)

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """An array of labels with their counts."""
        return pa.list_(pa.struct([("label", types[0]), ("count", pa.int64())]))

    def zero(self) -> Counter[Any]:
        """No label yet."""
        return Counter()

    def add(self, state: Counter[Any], rows: pa.RecordBatch) -> Counter[Any]:
        """Count the labels of some more rows."""
        state.update(rows.column(0).to_pylist())
        return state

    def merge(self, state: Counter[Any], other: Counter[Any]) -> Counter[Any]:
        """The counts of both."""
        state.update(other)
        return state

    def result(self, state: Counter[Any]) -> list[dict[str, Any]]:
        """In the order of the labels."""
        return [{"label": label, "count": state[label]} for label in sorted(state)]
