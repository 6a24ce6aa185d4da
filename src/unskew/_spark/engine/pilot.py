"""A pilot: the function timed on a few groups inside a task, its results thrown away.

Parts of a key may go to a function whose results are merged: then a few rows of each partition
are enough. A function of whole keys gets all rows of a few keys, drawn by their hash.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew._spark.engine.bulk import Batches, OneSide
from unskew._spark.engine.calls import GroupCall, Results
from unskew._spark.engine.cutting import Bundle, bundles
from unskew._spark.engine.merging import merged
from unskew._spark.engine.stages import Stage
from unskew._spark.frames.arrow_keys import KeyGroups
from unskew._spark.planning.cost_model import FunctionCost, fitted
from unskew._spark.planning.decision import Pilot
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.work import KeySample
from unskew._spark.routing.route import Route

ROWS = 1024
"""With how many rows a pilot calls the function, about."""
COUNTED = 8192
"""Of how many rows it counts the keys, where it is not the whole keys that are drawn."""
SECONDS = 0.1
"""When it stops to call the function."""


def run_pilot(
    request: RoutingRequest, call: GroupCall, merge: GroupCall | None, rows: float | None
) -> Pilot | None:
    """Time `call`, and `merge` if there is one; None if the function fails."""
    request = request.by_position()
    stage = Stage.of(request, Route.in_place())
    task = PilotTask(stage.one_side(request.columns), call, merge)
    # Of a few rows of each partition. All of a task's results are read: where Spark stops early it
    # throws the Python worker away, and the next job waits for a new one.
    some = stage.rows.limit(COUNTED) if merge else _some_keys(request, stage, rows)
    found = some.mapInArrow(task, "report string").collect()
    report = json.loads(found[0]["report"]) if found else {}
    if not report.get("points"):
        return None
    return Pilot(
        replace(fitted(report["points"]), busy=report["busy"]),
        FunctionCost(report["merge"], 0.0, source="a pilot") if merge else None,
        KeySample(*report["keys"]),
    )


def _some_keys(request: RoutingRequest, stage: Stage, rows: float | None) -> DataFrame:
    """All rows of some keys, sorted."""
    every = max(1, round((rows or 64.0 * ROWS) / ROWS))
    drawn = stage.rows.where(F.pmod(request.key.hash, F.lit(every)) == 0)
    by = [F.col(stage.rows.columns[place]) for place in stage.cut_by]
    return drawn.repartition(1).sortWithinPartitions(*by)


def _first(batches: Batches) -> pa.Table:
    """The first rows, in few batches."""
    taken: list[pa.RecordBatch] = []
    for batch in batches:
        taken.append(batch)
        if sum(each.num_rows for each in taken) >= COUNTED:
            break
    return pa.Table.from_batches(taken)


@dataclass(frozen=True, slots=True)
class PilotTask:
    """Times a function on the groups of a task's rows."""

    layout: OneSide
    call: GroupCall
    merge: GroupCall | None

    def __call__(self, batches: Batches) -> Batches:
        """A report as JSON, of one row."""
        try:
            report = self._report(batches)
        except Exception as problem:  # The real run raises it again, as Spark does.
            report = {"error": repr(problem)[:200]}
        for _ in batches:
            pass
        yield pa.record_batch({"report": [json.dumps(report)]})

    def _report(self, batches: Batches) -> dict[str, Any]:
        keys = None
        if self.merge is not None:
            rows = _first(batches)
            keys = self._sample(rows)
            # In the order of their keys, as rows that Spark sorted.
            batches = iter([KeyGroups.of(rows.slice(0, ROWS), self.layout.cut_by).rows])
        start, before = time.perf_counter(), time.process_time()
        timed = list(self._timed(batches))
        busy = (time.process_time() - before) / max(time.perf_counter() - start, 1e-9)
        # The first call pays for what is loaded on the way.
        points = [(size, seconds) for size, seconds, _ in timed[len(timed) > 1 :]]
        report: dict[str, Any] = {"points": points, "busy": min(busy, 1.0)}
        # Of whole keys, drawn at random, twice the rows have twice the keys.
        seen = sum(size for size, _, _ in timed)
        report["keys"] = keys or KeySample(seen, len(timed), (len(timed) + 1) // 2, 0.0)
        if self.merge is not None:
            report["merge"] = self._merging([result for _, _, result in timed])
        return report

    def _sample(self, rows: pa.Table) -> KeySample:
        groups = KeyGroups.of(rows, self.layout.cut_by)
        half = KeyGroups.of(rows.slice(0, (rows.num_rows + 1) // 2), self.layout.cut_by)
        hottest = float(np.diff(groups.starts).max(initial=0)) / max(rows.num_rows, 1)
        return KeySample(rows.num_rows, groups.count, half.count, hottest)

    def _timed(self, batches: Batches) -> Iterator[tuple[int, float, pa.Table]]:
        """Rows, seconds and result of a call for each complete group, while there is time."""
        end = time.perf_counter() + SECONDS
        for rows, starts in bundles(batches, self.layout.cut_by, self.call.settings.limits):
            for first, last in pairwise(starts.tolist()):
                start = time.perf_counter()
                result = self._result(rows.slice(first, last - first))
                now = time.perf_counter()
                yield last - first, now - start, result
                if now > end:
                    return

    def _result(self, rows: pa.Table) -> pa.Table:
        key = [rows.column(place).slice(0, 1) for place in self.layout.key]
        if self.call.form.iterator:
            shown = map(self.layout.shown, rows.to_batches())
            return pa.concat_tables(self.call.of_stream(key, shown))
        collector = self.call.collector()
        whole = Bundle(rows, np.array([0, rows.num_rows]))
        for result in self.call.of_bundle(self.layout.sides(whole), key):
            collector.add(result)
        return collector.taken().rows

    def _merging(self, results: list[pa.Table]) -> float:
        """The seconds of a merge of one key's results."""
        assert self.merge is not None
        some = [each for each in results[:100] if each.num_rows]
        if not some:
            return 0.0
        parts = Results(pa.concat_tables(some), [each.num_rows for each in some])
        list(merged(self.merge, Results(some[0], [some[0].num_rows])))
        start = time.perf_counter()
        list(merged(self.merge, parts))
        return (time.perf_counter() - start) / len(some)
