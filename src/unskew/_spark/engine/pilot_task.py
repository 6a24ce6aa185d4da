"""The task of a pilot: a function timed on the groups of a few rows.

It imports nothing that a worker does without: every Python worker of a session waits for that.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from unskew._spark.engine.bulk import Batches, OneSide
from unskew._spark.engine.calls import GroupCall, Results
from unskew._spark.engine.cutting import Bundle, bundles
from unskew._spark.engine.merging import merged
from unskew._spark.frames.arrow_keys import KeyGroups
from unskew._spark.planning.pace import measured_pace

ROWS = 1024
"""With how many rows a pilot calls the function, about."""
COUNTED = 8192
"""Of how many rows it counts the keys, where it is not the whole keys that are drawn."""
HEAVY = 1 / 64
"""Which share of the rows makes a key heavy: it is named by its share."""
SECONDS = 0.05
"""When it stops to call the function, however few calls it has timed."""
ENOUGH, CALLS = 0.02, 8
"""When it stops if it has timed so many calls, of parts: whole keys may take time by the square of
their rows, which few calls do not tell."""
PARTS = 4
"""Of how many partial results of a key it times a merge, beside that of one."""
_AFTER = 0.25
"""Seconds behind the cancelling of the job, when its task ends: as killed, not as failed."""
_MERGING = 0.01  # Seconds of merges that are timed.
_MERGES = 100  # Keys whose merge is timed.


def _first(batches: Batches) -> pa.Table:
    """The first rows, in few batches."""
    taken: list[pa.RecordBatch] = []
    for batch in batches:
        taken.append(batch)
        if sum(each.num_rows for each in taken) >= COUNTED:
            break
    return pa.Table.from_batches(taken)


def _mixed(groups: KeyGroups) -> pa.Table:
    """The rows of groups, large ones among small ones: time may not do for all."""
    order = np.random.default_rng(0).permutation(groups.count)
    rows = [np.arange(groups.starts[each], groups.starts[each + 1]) for each in order]
    return groups.rows.take(pa.array(np.concatenate(rows)))


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """End this process if what is done here takes longer, even in a call that waits."""
    end = threading.Timer(seconds, os._exit, [1])
    end.name, end.daemon = "end of a pilot", True
    end.start()
    try:
        yield
    finally:
        end.cancel()
        end.join()


@dataclass(frozen=True, slots=True)
class Bounded:
    """A task that does not outlive its job, which is cancelled after so many seconds.

    Spark lets a cancelled task keep its slot for two to four seconds, then kills its worker.
    Stopping the function alone would leave in the worker what it has half done, for the real run.
    """

    task: Callable[[Batches], Batches]
    seconds: float

    def __call__(self, batches: Batches) -> Batches:
        """What the task makes of its rows."""
        with bounded(self.seconds + _AFTER):
            yield from self.task(batches)


class TimedCall(NamedTuple):
    """A call of the function."""

    rows: int
    seconds: float
    busy: float
    """Seconds of a core."""


@dataclass(frozen=True, slots=True)
class PilotTask:
    """Times a function on the groups of a task's rows."""

    layout: OneSide
    call: GroupCall
    merge: GroupCall | None
    calibrates: bool = False
    """Whether it also tells how quick its core is."""

    def __call__(self, batches: Batches) -> Batches:
        """A report as JSON, of one row."""
        try:
            report = self._report(batches)
        except Exception as problem:  # The real run raises it again, as Spark does.
            report = {"error": repr(problem)[:200]}
        if self.calibrates:
            report["pace"] = measured_pace()
        for _ in batches:
            pass
        yield pa.record_batch({"report": [json.dumps(report)]})

    def _report(self, batches: Batches) -> dict[str, Any]:
        keys = None
        if self.merge is not None:
            rows = _first(batches)
            keys = self._sample(rows)
            batches = iter([_mixed(KeyGroups.of(rows.slice(0, ROWS), self.layout.cut_by))])
        timed, results = self._timed(batches)
        # The first call pays for what is loaded on the way.
        usual = timed[len(timed) > 1 :]
        busy = sum(each.busy for each in usual) / max(sum(each.seconds for each in usual), 1e-9)
        report: dict[str, Any] = {
            "points": [(each.rows, each.seconds) for each in usual],
            "busy": min(busy, 1.0),
        }
        # Of whole keys, drawn at random, twice the rows have twice the keys.
        seen = sum(each.rows for each in timed)
        report["keys"] = keys or (seen, len(timed), len(timed) / 2)
        if self.merge is not None:
            report["merge"] = self._merging([each for each in results if each.num_rows])
        return report

    def _sample(self, rows: pa.Table) -> tuple[int, int, float, list[float]]:
        """Rows, keys, keys of the first half and shares of the heavy ones, as in `KeySample`."""
        groups = KeyGroups.of(rows, self.layout.cut_by)
        half = KeyGroups.of(rows.slice(0, (rows.num_rows + 1) // 2), self.layout.cut_by)
        shares = np.sort(np.diff(groups.starts) / max(rows.num_rows, 1))[::-1]
        heavy = shares[shares >= HEAVY].tolist()
        return rows.num_rows, groups.count, half.count, heavy

    def _timed(self, batches: Batches) -> tuple[list[TimedCall], list[pa.Table]]:
        """A call for each complete group, while there is time, and what they returned."""
        timed: list[TimedCall] = []
        returned: list[Any] = []
        began = time.perf_counter()
        for bundle in bundles(batches, self.layout.cut_by, self.call.settings.limits):
            results = self._results(bundle)
            for rows in np.diff(bundle.starts).tolist():
                start, before = time.perf_counter(), time.process_time()
                returned.append(next(results))
                now, busy = time.perf_counter(), time.process_time() - before
                timed.append(TimedCall(rows, now - start, busy))
                enough = self.merge is not None and len(timed) > CALLS
                if now - began > (ENOUGH if enough else SECONDS):
                    return timed, self._tables(returned)
        return timed, self._tables(returned)

    def _results(self, bundle: Bundle) -> Iterator[Any]:
        """What the function returns for each group, as it is called in bulk."""
        heads = bundle.rows.take(pa.array(bundle.starts[:-1]))
        keys = [heads.column(place) for place in self.layout.key]
        if not self.call.form.iterator:
            yield from self.call.of_bundle(self.layout.sides(bundle), keys)
            return
        for group, (first, last) in enumerate(pairwise(bundle.starts.tolist())):
            shown = map(self.layout.shown, bundle.rows.slice(first, last - first).to_batches())
            yield pa.concat_tables(
                self.call.of_stream([each.slice(group, 1) for each in keys], shown)
            )

    def _tables(self, returned: list[Any]) -> list[pa.Table]:
        """The results of each group, converted together."""
        if self.call.form.iterator or not returned:
            return returned
        collector = self.call.collector()
        for each in returned:
            collector.add(each)
        rows, counts = collector.taken()
        ends = np.cumsum(counts)
        return [rows.slice(end - count, count) for end, count in zip(ends, counts, strict=True)]

    def _merging(self, results: list[pa.Table]) -> tuple[float, float]:
        """The seconds of a merge: for a key, and for each partial result of it."""
        if not results:
            return 0.0, 0.0
        self._merged(results[:1], 1)  # The first call pays for what is loaded on the way.
        slowest = self._merged(results[:1], PARTS)
        some = results[: int(np.clip(_MERGING / PARTS / slowest, 1, _MERGES))]
        one, more = (self._merged(some, parts) for parts in (1, PARTS))
        each = max(more - one, 0.0) / (PARTS - 1)
        return max(one - each, 0.0), each

    def _merged(self, results: list[pa.Table], parts: int) -> float:
        """The seconds of the merge of a key that has its result in so many parts."""
        assert self.merge is not None
        rows = pa.concat_tables([each for each in results for _ in range(parts)])
        found = Results(rows, [parts * each.num_rows for each in results])
        start = time.perf_counter()
        list(merged(self.merge, found))
        return (time.perf_counter() - start) / len(results)
