"""Group functions by Spark's own verbs, with a trip to Python for each group.

For a PySpark whose conversions are not known, and for groups so large that trips cost less than
sorted batches do. The function sees its own columns under their own names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame

from unskew._spark.engine.calls import Function, UserCall
from unskew._spark.frames.prompt_tasks import be_prompt
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.routing.route import Route


def apply_by_spark(
    request: RoutingRequest, route: Route, call: UserCall, merge: UserCall | None = None
) -> DataFrame:
    """A function of whole groups; its result goes through `merge` if there is one."""
    request = request.by_position()
    placed, worker = _placed(request, route)
    show = _showing(call, request.columns)
    count, form = len(request.key.fields), call.form
    finish = _finishing(call, merge)

    def call_group(key: Any, rows: Any) -> Any:
        be_prompt()
        shown = map(show, rows) if form.iterator else show(rows)
        own = (key[len(key) - count :],) if form.with_key else ()
        return finish(call.function(*own, shown))

    grouped = placed.groupBy(*worker, *request.key.columns)
    return _applied(grouped, _annotated(call_group, call), call)


def cogroup_by_spark(
    left: RoutingRequest, right: RoutingRequest, route: Route, call: UserCall
) -> DataFrame:
    """A function of two groups."""
    sides = left.by_position(), right.by_position()
    grouped = []
    for side in sides:
        placed, worker = _placed(side, route)
        grouped.append(placed.groupBy(*worker, *side.key.columns))
    show_left, show_right = (_showing(call, side.columns) for side in sides)
    count = len(left.key.fields)

    def call_groups(key: Any, here: Any, there: Any) -> Any:
        be_prompt()
        own = (key[len(key) - count :],) if call.form.with_key else ()
        return call.function(*own, show_left(here), show_right(there))

    return _applied(grouped[0].cogroup(grouped[1]), call_groups, call)


def _placed(request: RoutingRequest, route: Route) -> tuple[DataFrame, list[str]]:
    """The rows on their workers, and the column by which to group beside the key."""
    if not route.plain:
        placed, worker = route.place(request.rows, request.key)
        return placed, [worker]
    if request.given["workers"] is None:
        return request.rows, []
    # Given a number, Spark does not pack costly groups into fewer tasks for being small.
    return request.rows.repartition(request.workers, *request.key.columns), []


def _applied(grouped: Any, function: Function, call: UserCall) -> DataFrame:
    verb = grouped.applyInArrow if call.kind == "arrow" else grouped.applyInPandas
    result: DataFrame = verb(function, call.schema)
    return result


def _showing(call: UserCall, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The first columns, under the names that the function knows."""
    if call.kind == "arrow":
        return lambda rows: rows.select(range(len(names))).rename_columns(list(names))
    return lambda rows: rows.iloc[:, : len(names)].set_axis(list(names), axis=1)


def _finishing(call: UserCall, merge: UserCall | None) -> Callable[[Any], Any]:
    """The merge of one group's results, if there is a merge and there are results."""
    if merge is None:
        return lambda result: result

    def finish(result: Any) -> Any:
        whole = _whole(result) if call.form.iterator else result
        if whole is None or not len(whole):
            return iter([]) if call.form.iterator else whole
        if merge.form.iterator:
            whole = _whole(merge.function(iter(_batches(whole))))
        else:
            whole = merge.function(whole)
        return iter(_batches(whole)) if call.form.iterator else whole

    return finish


def _whole(batches: Iterator[Any]) -> Any:
    found = list(batches)
    if not found:
        return None
    if isinstance(found[0], pa.RecordBatch):
        return pa.Table.from_batches(found)
    return pd.concat(found, ignore_index=True)


def _batches(whole: Any) -> list[Any]:
    return whole.to_batches() if isinstance(whole, pa.Table) else [whole]


def _annotated(function: Function, call: UserCall) -> Function:
    """Annotate `function`: Spark reads there whether it takes whole groups or batches."""
    function.__annotations__ = {}
    if call.form.iterator:
        kind = pa.RecordBatch if call.kind == "arrow" else pd.DataFrame
        batches = Iterator[kind]  # type: ignore[valid-type]
        function.__annotations__ = {"key": tuple, "rows": batches, "return": batches}
    return function
