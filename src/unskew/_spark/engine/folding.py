"""Rows folded into a state of each key, batch by batch: a group need not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from unskew._spark.engine.bulk import MOST_BYTES, Batches, Called, OneSide
from unskew._spark.engine.calls import MOST_ROWS
from unskew._spark.engine.cutting import Segments, segments
from unskew._spark.engine.state_calls import FoldCall, pickled
from unskew._spark.planning.recording import Recorder, Recording


@dataclass(frozen=True, slots=True)
class FoldTask:
    """The states of the keys of a task's rows."""

    layout: OneSide
    call: FoldCall
    record: Recording | None = None
    """Where to write what the calls took; None writes nothing."""

    def results(self, batches: Batches) -> Iterator[Called]:
        """Many keys at a time, with the first row of each."""
        recorder = self.record.start() if self.record else None
        folding = _Folding(self.layout, self.call, recorder)
        for part in segments(batches, self.layout.cut_by):
            folding.add(part)
            if len(folding.states) >= MOST_ROWS or folding.size >= MOST_BYTES:
                yield folding.taken()
        folding.close()
        if folding.states:
            yield folding.taken()
        if recorder:
            recorder.finish()


class _Folding:
    """The groups that are done, and one that may go on in the next batch."""

    def __init__(self, layout: OneSide, call: FoldCall, recorder: Recorder | None) -> None:
        self._layout = layout
        self._call = call
        self._recorder = recorder
        self._heads: list[pa.RecordBatch] = []
        self._open: list[Any] | None = None
        self._rows: list[int] = []
        self._seconds: list[float] = []
        self.states: list[bytes] = []
        self.size = 0

    def add(self, part: Segments) -> None:
        """Fold the groups of a batch."""
        rows, states = self._call.read(part.rows), self._call.states
        heads = part.rows.take(pa.array(part.starts[:-1]))
        self._heads.append(heads.slice(int(part.continues)))
        for at, end in pairwise(part.starts.tolist()):
            if at or not part.continues:
                self.close()
                self._open = states.zero()
                self._rows.append(0)
                self._seconds.append(0.0)
            assert self._open is not None  # A group that continues has begun.
            began = perf_counter()
            self._open = states.add(self._open, rows.slice(at, end - at))
            self._seconds[-1] += perf_counter() - began
            self._rows[-1] += end - at

    def close(self) -> None:
        """No rows of the last group are left."""
        if self._open is not None:
            self.states.append(pickled(self._open))
            self.size += len(self.states[-1])
            self._open = None

    def taken(self) -> Called:
        """The groups that are done; they are not kept."""
        count = len(self.states)
        heads = pa.Table.from_batches(self._heads)
        done = heads.slice(0, count)
        found = self._call.made([done.column(place) for place in self._layout.key], self.states)
        if self._recorder:
            seconds = np.array(self._seconds[:count])
            self._recorder.counted(done, np.array(self._rows[:count]), seconds)
        self._heads = heads.slice(count).to_batches()
        self._rows, self._seconds = self._rows[count:], self._seconds[count:]
        self.states, self.size = [], 0
        return Called(found, done)
