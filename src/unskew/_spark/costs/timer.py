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

from unskew._spark.costs.samples import TaskCosts
from unskew.kernels import KeyHashes
from unskew.kernels.cost_pair import Floats
from unskew.sketches.cost_pair import CostShape

MOST_PARTS = 1024
"""How many parts a task times. Each costs a call: 2 µs of ours for Arrow, 140 µs for pandas."""

_SHORT, _LONG = 0.5e-3, 2e-3  # A part should take about a millisecond.


class BatchKind(Protocol):
    """Operations on the batches of one kind, Arrow or pandas.

    The last two columns of a batch are helpers: the cost key's hash and the input partition.
    """

    def split(self, batch: Any) -> tuple[Any, KeyHashes, Floats]:
        """The user's rows, their hashes and the input partitions they come from."""
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
        self._timed: list[tuple[KeyHashes, Floats, float]] = []
        self._rows: dict[int, int] = {}

    def feed(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of all batches, in order."""
        for batch in batches:
            rows, hashes, origins = self.kind.split(batch)
            self._count(origins)
            start = 0
            while self.parts < MOST_PARTS and start < hashes.size:
                end = min(start + self._size, hashes.size)
                self.outside = 0.0
                began = time.perf_counter()
                yield self.kind.part(rows, start, end - start)
                seconds = time.perf_counter() - began - self.outside
                self._note(hashes[start:end], origins[start:end], seconds)
                start = end
            if start < hashes.size or not hashes.size:
                yield self.kind.part(rows, start, hashes.size - start)

    def _note(self, hashes: KeyHashes, origins: Floats, seconds: float) -> None:
        self._timed.append((hashes, origins, seconds / hashes.size))
        self.parts += 1
        if seconds < _SHORT:
            self._size *= 2
        elif seconds > _LONG and self._size > 1:
            self._size //= 2

    def _count(self, origins: Floats) -> None:
        for origin, rows in zip(*np.unique(origins, return_counts=True), strict=True):
            self._rows[int(origin)] = self._rows.get(int(origin), 0) + int(rows)

    def costs(self, shape: CostShape) -> TaskCosts:
        """The measurements of the task."""
        sizes = [hashes.size for hashes, _, _ in self._timed]
        return TaskCosts.of(
            shape,
            np.concatenate([np.empty(0, np.uint64), *(hashes for hashes, _, _ in self._timed)]),
            np.concatenate([np.empty(0), *(origins for _, origins, _ in self._timed)]),
            np.repeat([seconds for _, _, seconds in self._timed], sizes),
            self._rows,
        )


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
            yield kind.with_costs(held, timer.costs(shape).to_bytes())

    return run


class ArrowBatches:
    """Batches of `mapInArrow`; `costs` is the name of the costs column."""

    def __init__(self, costs: str) -> None:
        self.costs = costs

    def split(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, KeyHashes, Floats]:
        """The helper columns are the last two."""
        count = batch.num_columns - 2
        hashes = batch.column(count).to_numpy(zero_copy_only=False).view(np.uint64)
        origins = batch.column(count + 1).to_numpy(zero_copy_only=False)
        names = batch.schema.names[:count]
        return (
            batch.select(names) if len(set(names)) == count else _first(batch, count),
            hashes,
            origins,
        )

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

    def split(self, batch: Any) -> tuple[Any, KeyHashes, Floats]:
        """The helper columns are the last two."""
        hashes = batch.iloc[:, -2].to_numpy().astype(np.int64, copy=False).view(np.uint64)
        return batch.iloc[:, :-2], hashes, batch.iloc[:, -1].to_numpy()

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
