"""A user's own aggregate: the longest text, and how many rows were as long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Longest:
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        return pa.struct([("length", pa.int64()), ("rows", pa.int64())])

    def zero(self) -> tuple[int, int]:
        return -1, 0

    def add(self, state: tuple[int, int], rows: pa.RecordBatch) -> tuple[int, int]:
        for value in rows.column(0).to_pylist():
            state = self.merge(state, (len(str(value)), 1))
        return state

    def merge(self, state: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        if state[0] == other[0]:
            return state[0], state[1] + other[1]
        return max(state, other)

    def result(self, state: tuple[int, int]) -> dict[str, int] | None:
        return {"length": state[0], "rows": state[1]} if state[1] else None
