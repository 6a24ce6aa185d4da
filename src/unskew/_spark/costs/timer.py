"""A timer inside the tasks: measures what rows cost and returns it with the result.

A task hands the user's function small parts of each batch and times each part, until it has timed
enough; the first parts are single rows, and parts grow while they take less than a millisecond.
The measurements are on the last row of the task's result, in a column that is dropped after a
Spark observation has read it. Nothing is computed twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from unskew._spark.costs.pair_bytes import to_bytes
from unskew.kernels import KeyHashes
from unskew.sketches.cost_pair import CostPair, CostShape

MOST_PARTS = 1024
"""How many parts a task times. Each costs a call: 2 µs of ours for Arrow, 140 µs for pandas."""

_SHORT, _LONG = 0.5e-3, 2e-3  # A part should take about a millisecond.


class BatchKind(Protocol):
    """Operations on the batches of one kind, Arrow or pandas.

    The last column of a batch is a helper: the cost key's hash.
    """

    def split(self, batch: Any) -> tuple[Any, KeyHashes]:
        """The user's rows and their hashes."""
        ...

    def part(self, rows: Any, start: int, size: int) -> Any:
        """Some consecutive rows."""
        ...

    def count(self, out: Any) -> int | None:
        """How many rows a result has; None for what is not a batch, which Spark will refuse."""
        ...

    def with_costs(self, out: Any, costs: bytes | None) -> Any:
        """A result with the costs column: `costs` on the last row, null on all others."""
        ...


class Timer:
    """Cuts the batches of a task into parts and times each part."""

    def __init__(self, kind: BatchKind) -> None:
        self.kind = kind
        self.parts = 0
        self.outside = 0.0
        """Seconds since the current part began in which the user's function waited for us."""
        self._size = 1
        self._timed: list[tuple[KeyHashes, float]] = []

    def feed(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of all batches, in order."""
        for batch in batches:
            rows, hashes = self.kind.split(batch)
            start = 0
            while self.parts < MOST_PARTS and start < hashes.size:
                end = min(start + self._size, hashes.size)
                self.outside = 0.0
                began = time.perf_counter()
                yield self.kind.part(rows, start, end - start)
                seconds = time.perf_counter() - began - self.outside
                self._note(hashes[start:end], seconds)
                start = end
            if start < hashes.size or not hashes.size:
                yield self.kind.part(rows, start, hashes.size - start)

    def _note(self, hashes: KeyHashes, seconds: float) -> None:
        self._timed.append((hashes, seconds / hashes.size))
        self.parts += 1
        if seconds < _SHORT:
            self._size *= 2
        elif seconds > _LONG and self._size > 1:
            self._size //= 2

    def costs(self, shape: CostShape) -> CostPair:
        """The measurements of the task."""
        pair = CostPair(shape)
        if self._timed:
            hashes, seconds = zip(*self._timed, strict=True)
            pair.add(np.concatenate(hashes), np.repeat(seconds, [each.size for each in hashes]))
        return pair


def timed(
    function: Callable[[Iterator[Any]], Iterator[Any]], kind: BatchKind, shape: CostShape
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Wrap the user's function in a timer; its errors pass through unchanged."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        timer = Timer(kind)
        held = None
        for out in function(timer.feed(batches)):
            paused = time.perf_counter()
            if kind.count(out) is None:
                yield out
            elif kind.count(out):
                if held is not None:
                    yield kind.with_costs(held, None)
                held = out
            timer.outside += time.perf_counter() - paused
        if held is not None:
            yield kind.with_costs(held, to_bytes(timer.costs(shape)))

    return run


class ArrowBatches:
    """Batches of `mapInArrow`; `costs` is the name of the costs column."""

    def __init__(self, costs: str) -> None:
        self.costs = costs

    def split(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, KeyHashes]:
        """The helper column is the last."""
        count = batch.num_columns - 1
        hashes = batch.column(count).to_numpy(zero_copy_only=False).view(np.uint64)
        names = batch.schema.names[:count]
        rows = batch.select(names) if len(set(names)) == count else _first(batch, count)
        return rows, hashes

    def part(self, rows: pa.RecordBatch, start: int, size: int) -> pa.RecordBatch:
        """A view."""
        return rows.slice(start, size)

    def count(self, out: Any) -> int | None:
        """Only record batches have rows."""
        return int(out.num_rows) if isinstance(out, pa.RecordBatch) else None

    def with_costs(self, out: pa.RecordBatch, costs: bytes | None) -> pa.RecordBatch:
        """Append the costs column."""
        extra = pa.array([None] * (out.num_rows - 1) + [costs], pa.binary())
        return pa.RecordBatch.from_arrays([*out.columns, extra], [*out.schema.names, self.costs])


def _first(batch: pa.RecordBatch, count: int) -> pa.RecordBatch:
    """By position: names may repeat."""
    fields = [batch.schema.field(number) for number in range(count)]
    return pa.RecordBatch.from_arrays(batch.columns[:count], schema=pa.schema(fields))


class PandasFrames:
    """Batches of `mapInPandas`; `names` are the result's columns, `costs` is the costs column."""

    def __init__(self, names: list[str], costs: str) -> None:
        self.names = names
        self.costs = costs

    def split(self, batch: Any) -> tuple[Any, KeyHashes]:
        """The helper column is the last."""
        hashes = batch.iloc[:, -1].to_numpy().astype(np.int64, copy=False).view(np.uint64)
        return batch.iloc[:, :-1], hashes

    def part(self, rows: Any, start: int, size: int) -> Any:
        """Numbered from 0, as a batch from Spark is."""
        return rows.iloc[start : start + size].reset_index(drop=True)

    def count(self, out: Any) -> int | None:
        """Only data frames have rows."""
        return len(out) if type(out).__name__ == "DataFrame" else None

    def with_costs(self, out: Any, costs: bytes | None) -> Any:
        """Append the costs column; columns without names go by position, as in Spark."""
        if len(out.columns) == len(self.names) and not any(
            isinstance(name, str) for name in out.columns
        ):
            out = out.set_axis(self.names, axis=1)
        return out.assign(**{self.costs: [None] * (len(out) - 1) + [costs]})
