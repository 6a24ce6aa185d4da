"""A map's task: it cuts batches into parts for the user's function, and times the parts.

Costly rows come in small parts, cheap ones in whole batches. Where costs are not known yet, a part
takes some 20 ms at first, and later an eighth of what all before it took: a few dozen a task, fine
enough for a row to stand out that is a large part of the task. Seconds of a part are shared out
over its rows by what their keys took elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from unskew._spark.costs.shares import Marks, TimedPart, shared_out
from unskew._spark.planning.cost_curve import keys_of
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.number_keys import keys_of_numbers
from unskew._spark.planning.recording import Recorder
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.planning.work_record import Hashes

MapFunction = Callable[[Iterator[Any]], Iterator[Any]]
Form = Literal["arrow", "pandas"]

LEAST = 0.02
"""Seconds that a part should take which is cut to be timed."""
SHARE = 1 / 8
"""Or this share of what all parts before it took, if that is more."""
_HELD = 256  # Timed parts that are held one by one.
_GUIDES = 64  # The finest of them, which tell keys of later parts from each other.


def _hashes(marks: Any) -> Hashes:
    hashes: Hashes = marks.view(np.uint64)
    return hashes


_KEYS: dict[Marks, Callable[[Any], Hashes]] = {
    "cost": keys_of,
    "key": _hashes,
    "number": keys_of_numbers,
}


@dataclass(frozen=True, slots=True)
class InParts:
    """A user's function behind the cutting; the last column of a batch is the rows' cost or key."""

    function: MapFunction
    form: Form
    limit: float | None
    """The cost that a part has at most, unless it is one row; None if the column is a key."""
    place: RecordPlace | None
    """Where to write what was timed."""
    number: bool = False
    """Whether the column is a key that is a number, DOUBLE, and not the hash of one."""

    @property
    def marks(self) -> Marks:
        """What the column is."""
        if self.limit is not None:
            return "cost"
        return "number" if self.number else "key"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Run a task; the function's errors pass through unchanged."""
        task = PartsTask(self)
        for result in self.function(task.feed(batches)):
            paused = perf_counter()
            yield result
            task.outside += perf_counter() - paused
        task.finish()


class PartsTask:
    """The parts of one task so far."""

    def __init__(self, work: InParts) -> None:
        self.outside = 0.0
        """Seconds since the task began in which the function waited for Spark."""
        self._work = work
        self._began = perf_counter()
        self._size = 1
        self._held: list[TimedPart] = []
        self._guides: list[TimedPart] = []
        self._spent = 0.0
        self._read_all = False
        self._recorder = None if work.place is None else Recorder(work.place, 0)

    def feed(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of all batches, in order."""
        waited = perf_counter()
        for batch in batches:
            rows, marks = without_last(batch, self._work.form)
            start = 0
            for end in self._ends(marks):
                self.outside += perf_counter() - waited
                began, outside = perf_counter(), self.outside
                yield _part(rows, start, end, self._work.form)
                seconds = perf_counter() - began - (self.outside - outside)
                waited = perf_counter()
                self._note(marks[start:end], seconds)
                start = end
        self.outside += perf_counter() - waited
        self._read_all = True

    def _ends(self, marks: Any) -> Iterator[int]:
        """Where parts end; the next is asked for when the part before has been timed."""
        if self._work.limit is not None:
            yield from cut_by_cost(marks, self._work.limit)
            return
        start = 0
        while self._recorder is not None and start < len(marks):
            start = min(start + self._size, len(marks))
            yield start
        if start < len(marks) or not len(marks):
            yield len(marks)

    def _note(self, marks: Any, seconds: float) -> None:
        if self._recorder is None or not len(marks):
            return
        wanted = max(LEAST, SHARE * self._spent)
        self._size = int(np.clip(len(marks) * wanted / max(seconds, 1e-6), 1, 4 * self._size))
        keys = _KEYS[self._work.marks](marks)
        self._held.append(TimedPart(*np.unique(keys, return_counts=True), seconds))
        self._spent += seconds
        if len(self._held) >= _HELD:
            self._fold(1.0)

    def _fold(self, factor: float) -> None:
        if self._recorder is not None and self._held:
            parts = self._guides + self._held
            shares = shared_out(parts, self._work.marks)
            for part, seconds in zip(self._held, shares[len(self._guides) :], strict=True):
                self._recorder.add(part.keys, part.rows, factor * seconds)
            self._guides = self._guides or self._held[:_GUIDES]
            self._held = []

    def finish(self) -> None:
        """Write what was timed, if all rows were read."""
        if self._recorder is None or not self._read_all:
            return
        # A function may read all rows before it works on them: then parts took no time.
        total = perf_counter() - self._began - self.outside
        self._fold(max(total / self._spent, 1.0) if self._spent > 0 else 1.0)
        self._recorder.finish()


def cut_by_cost(costs: Seconds, limit: float) -> list[int]:
    """Where parts end that cost at most `limit` each, or are one row.

    >>> cut_by_cost(np.array([1.0, 1.0, 9.0, 1.0, 1.0, 1.0]), limit=3.0)
    [2, 3, 6]
    >>> cut_by_cost(np.zeros(0), limit=3.0)
    [0]
    """
    if not costs.size or not costs.sum() > limit:
        return [costs.size]
    ends: list[int] = []
    load = 0.0
    for place, cost in enumerate(costs.tolist()):
        if load + cost > limit and place > (ends[-1] if ends else 0):
            ends.append(place)
            load = 0.0
        load += cost
    return [*ends, costs.size]


def without_last(batch: Any, form: Form) -> tuple[Any, Any]:
    """The user's columns, and the last one as numbers."""
    if form == "pandas":
        # Not a view of the whole: pandas would warn a function that assigns to it.
        return batch.iloc[:, :-1].copy(deep=False), batch.iloc[:, -1].to_numpy()
    fields = [batch.schema.field(place) for place in range(batch.num_columns - 1)]
    rows = pa.RecordBatch.from_arrays(
        batch.columns[:-1], schema=pa.schema(fields, batch.schema.metadata)
    )
    return rows, batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False)


def _part(rows: Any, start: int, end: int, form: Form) -> Any:
    if start == 0 and end == len(rows):
        return rows
    if form == "pandas":
        # Numbered from 0, as a batch from Spark is.
        return rows.iloc[start:end].reset_index(drop=True)
    return rows.slice(start, end - start)
