"""The protocol of an aggregate: partial results are made anywhere and merged in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

__all__ = ["Aggregate", "State"]

State = Any
"""A partial result. It must pickle: it travels between workers."""


@runtime_checkable
class Aggregate(Protocol):
    """The description of an aggregate: a picklable value without state of its own.

    `merge` is associative and commutative and `zero` its neutral element, so that rows may be
    split over workers, batches and sources in any way. `add` and `merge` may reuse the state
    that they are given first, never the second.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that `add` reads, in this order."""
        ...

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """The type of the result, given the types of `columns`."""
        ...

    def zero(self) -> State:
        """The state of no rows."""
        ...

    def add(self, state: State, rows: pa.RecordBatch) -> State:
        """The state after some more rows, which hold the `columns` by position."""
        ...

    def merge(self, state: State, other: State) -> State:
        """The state of the rows of both."""
        ...

    def result(self, state: State) -> Any:
        """The final result, as a Python value or an Arrow scalar; None is null."""
        ...
