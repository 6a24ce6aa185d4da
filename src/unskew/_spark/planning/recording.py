"""What a task measures of a group function, and writes when it has read all of its rows."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.planning.work_record import Floats, Hashes, Whole, WorkRecord

_HELD = 1 << 16  # Calls that are held one by one.

_log = logging.getLogger("unskew")


@dataclass(frozen=True, slots=True)
class Recording:
    """What a task needs to know to record its calls."""

    place: RecordPlace
    column: int
    """The place of a BIGINT column with the hash of the key."""

    def start(self) -> Recorder:
        """Begin a task."""
        return Recorder(self.place, self.column)


class Recorder:
    """The calls of one task so far."""

    def __init__(self, place: RecordPlace, column: int) -> None:
        self._place = place
        self._column = column
        self._record = WorkRecord.none(place.fingerprint, place.merging)
        self._held: list[tuple[Hashes, Whole, Floats]] = []
        self._count = 0
        self._modules = len(sys.modules)
        self._first: WorkRecord | None = None
        self._cold = False

    def timed(self, results: Iterator[Any], heads: pa.Table, starts: Whole) -> Iterator[Any]:
        """The results of groups that have these first rows and start at these places."""
        seconds: list[float] = []
        began = perf_counter()
        for result in results:
            seconds.append(perf_counter() - began)
            yield result
            began = perf_counter()
        self.counted(heads, np.diff(starts), np.array(seconds))

    def streamed(
        self,
        called: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.Table]],
        head: pa.Table,
        batches: Iterator[pa.RecordBatch],
    ) -> Iterator[pa.Table]:
        """The results of one group that comes in batches; waiting for these does not count."""
        rows, waited, seconds = 0, 0.0, 0.0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal rows, waited
            began = perf_counter()
            for batch in batches:
                waited += perf_counter() - began
                rows += batch.num_rows
                yield batch
                began = perf_counter()
            waited += perf_counter() - began

        began = perf_counter()
        for table in called(counted()):
            seconds += perf_counter() - began
            yield table
            began = perf_counter()
        seconds += perf_counter() - began
        rows += sum(batch.num_rows for batch in batches)  # What the function left unread.
        self.counted(head, np.array([rows]), np.array([max(seconds - waited, 0.0)]))

    def counted(self, heads: pa.Table, rows: Whole, seconds: Floats) -> None:
        """Count the calls of the groups that have these first rows."""
        hashes: Hashes = heads.column(self._column).to_numpy().view(np.uint64)
        self.add(hashes, rows, seconds)

    def add(self, keys: Hashes, rows: Whole, seconds: Floats) -> None:
        """Count calls, one for each key."""
        if self._first is None and keys.size:
            # In a new process the first call may load modules for all calls behind it.
            self._cold = len(sys.modules) > self._modules
            self._first = self._of(keys[:1], rows[:1], seconds[:1])
            keys, rows, seconds = keys[1:], rows[1:], seconds[1:]
        self._held.append((keys, rows, seconds))
        self._count += keys.size
        if self._count >= _HELD:
            self._fold()

    def record(self) -> WorkRecord:
        """What was measured so far."""
        self._fold()
        parts = [self._record] if self._first is None else [self._record, self._warmed(self._first)]
        return WorkRecord.merged(parts, self._place.most_keys)

    def finish(self) -> None:
        """Write what was measured: all rows were read."""
        try:
            context = TaskContext.get()
            numbers = (context.partitionId(), context.stageId()) if context else (0, 0)
            self._place.write(self.record(), *numbers)
        except Exception as error:  # Whatever it is: the job has its results.
            _log.debug("what a task measured was not written: %s", error)

    def _of(self, keys: Hashes, rows: Whole, seconds: Floats) -> WorkRecord:
        return WorkRecord.of(keys, rows, seconds, fingerprint=self._place.fingerprint)

    def _fold(self) -> None:
        if self._held:
            keys, rows, seconds = (np.concatenate(each) for each in zip(*self._held, strict=True))
            parts = [self._record, self._of(keys, rows, seconds)]
            self._record = WorkRecord.merged(parts, self._place.most_keys)
            self._held, self._count = [], 0

    def _warmed(self, first: WorkRecord) -> WorkRecord:
        """The first call; if it loaded modules, with no more seconds than others of its size."""
        others = self._record
        if not self._cold or not others.calls:
            return first
        usual = others.seconds * (1 / others.calls + first.rows / max(others.rows, 1))
        return self._of(first.keys, first.key_rows, np.minimum(first.key_seconds, usual))
