"""A pilot: the function timed on a few groups inside a task, its results thrown away.

Parts of a key may go to a function whose results are merged: then the first few rows are enough.
A function of whole keys gets all rows of a few keys, drawn by their hash.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew._spark.engine.calls import GroupCall
from unskew._spark.engine.pilot_task import COUNTED, ROWS, Bounded, PilotTask
from unskew._spark.engine.stages import Stage
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.planning.cost_model import FunctionCost, fitted
from unskew._spark.planning.decision import Pilot
from unskew._spark.planning.machine import is_calibrated, note_pace
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.work import KeySample
from unskew._spark.routing.route import Route

_ALONE = 100_000
"""Rows that one task reads sooner than several would send theirs to one."""


def run_pilot(
    request: RoutingRequest,
    call: GroupCall,
    merge: GroupCall | None,
    rows: float | None,
    within: float,
) -> Pilot | None:
    """Time `call`, and `merge` if there is one; None if the function fails.

    The job is cancelled after so many seconds.
    """
    request = request.by_position()
    stage = Stage.of(request, Route.in_place())
    session = request.rows.sparkSession
    task = PilotTask(stage.one_side(request.columns), call, merge, not is_calibrated(session))
    # One task reads as many partitions as it takes. All of its results are read: where Spark stops
    # early it throws the Python worker away, and the next job waits for a new one.
    some = stage.rows.coalesce(1).limit(COUNTED) if merge else _some_keys(request, stage, rows)
    found = some.mapInArrow(Prompt(Bounded(task, within)), "report string").collect()
    report = json.loads(found[0]["report"]) if found else {}
    if "pace" in report:
        note_pace(session, report["pace"])
    if not report.get("points"):
        return None
    return Pilot(
        replace(fitted(report["points"]), busy=report["busy"]),
        replace(FunctionCost(*report["merge"]), source="a pilot") if merge else None,
        KeySample(*report["keys"]),
    )


def _some_keys(request: RoutingRequest, stage: Stage, rows: float | None) -> DataFrame:
    """All rows of some keys, sorted."""
    every = max(1, round((rows or 64.0 * ROWS) / ROWS))
    drawn = stage.rows.where(F.pmod(request.key.hash, F.lit(every)) == 0)
    by = [F.col(stage.rows.columns[place]) for place in stage.cut_by]
    # A shuffle is a stage of its own: of few rows one task may read all.
    one = drawn.coalesce(1) if rows is not None and rows <= _ALONE else drawn.repartition(1)
    return one.sortWithinPartitions(*by)
