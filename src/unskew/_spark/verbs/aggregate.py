"""`groupBy(...).agg(...)`: in Spark where it has the aggregates, else in Python.

Spark combines its own aggregates before the shuffle, so that skew costs nothing; a plan would only
add a pass. Aggregates in Python have no such step: their rows are spread by a plan, each worker
makes a state of each of its keys, and the states of keys that were cut are merged by key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import YearMonthIntervalType

from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.engine.deciding import decided
from unskew._spark.engine.spark_rules import WorkerSettings
from unskew._spark.engine.stages import merge_in_bulk
from unskew._spark.engine.state_calls import FinishCall, FoldCall, state_schema
from unskew._spark.frames.grouping import aggregate_by, keys_are_shown, shown
from unskew._spark.frames.keys import column, contains
from unskew._spark.planning.cost_model import CostHints
from unskew._spark.planning.notices import explained
from unskew._spark.planning.own_call import NO_KEY
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.run_time import last_number
from unskew._spark.routing.route import IN_PLACE
from unskew.aggregates import Aggregate
from unskew.partitioners import Need


def aggregated(
    request: RoutingRequest,
    columns: Sequence[Column | Aggregate],
    named: Mapping[str, Column | Aggregate],
    hints: CostHints,
) -> DataFrame:
    """One row for each key: its columns, then the aggregates."""
    since = last_number(request.rows.sparkSession)
    result, plan = _aggregated(request, columns, named, hints)
    return explained(result, plan, since)


def _aggregated(
    request: RoutingRequest,
    columns: Sequence[Column | Aggregate],
    named: Mapping[str, Column | Aggregate],
    hints: CostHints,
) -> tuple[DataFrame, Plan]:
    rows, key = request.rows, request.key
    plan = AggregationPlan.of(rows, key.column_names, columns, named)
    if not plan.in_spark:
        return _in_python(plan, request, hints)
    scheme = request.scheme.route.name if isinstance(request.scheme, Plan) else request.scheme
    if scheme in ("auto", IN_PLACE) or not plan.key:
        made = request.left_to_spark("it combines these aggregates before the shuffle")
        return _named(rows.groupBy(*plan.keys).agg(*plan.whole()), request), made
    if plan.has_columns:
        # They cannot be split into partial aggregates: all rows of a key must be in one place.
        results = rows.groupBy(*plan.keys).agg(*plan.whole()).columns
        made = request.needing(Need.WHOLE_KEY).plan()
        placed, worker = made.route.place(rows, key, beside=results)
        done = placed.groupBy(worker, *plan.keys).agg(*plan.whole()).drop(worker)
        return _named(done, request), made
    made = request.plan()
    placed, worker = made.route.place(rows, key)
    partial = aggregate_by(placed, [F.col(worker), *plan.keys], *plan.partials())
    return _named(partial.groupBy(*plan.keys).agg(*plan.merged()), request), made


def _in_python(
    plan: AggregationPlan, request: RoutingRequest, hints: CostHints
) -> tuple[DataFrame, Plan]:
    if not plan.key:
        return _by_spark(plan, request), request.left_to_spark(NO_KEY)
    if any(contains(field.dataType, YearMonthIntervalType) for field in request.key.fields):
        made = request.left_to_spark("Arrow has no intervals of years and months, the key's type")
        return _by_spark(plan, request), made
    states, settings = plan.states(), WorkerSettings.of(plan.rows)
    schema = state_schema(request.key, states)
    fold = FoldCall(states, tuple(range(len(states.columns))), schema, settings)
    slim = _only(request, states.columns)
    finish = FinishCall(states, schema, settings)
    decision = decided(slim, fold, finish, hints)
    done = merge_in_bulk(slim, decision.plan.route, fold, finish, decision.place)
    results = plan.results(column("results"))
    if not keys_are_shown(plan.rows):
        return done.select(*results), decision.plan
    key = enumerate(zip(request.key.names, request.key.fields, strict=True))
    keys = [shown(column(f"k{n}"), field.dataType).alias(name) for n, (name, field) in key]
    return done.select(*keys, *results), decision.plan


def _by_spark(plan: AggregationPlan, request: RoutingRequest) -> DataFrame:
    """All rows of a key in one call; the key itself does not travel to Python."""
    functions = plan.functions()
    if not plan.key:
        every = _and_none(plan.rows.select(functions.input.alias("input")))
        done = every.agg(functions.whole(F.col("input")).alias(plan.state))
        return done.select(*plan.results())
    state = functions.whole(functions.input).alias(plan.state)
    keys = plan.keys if keys_are_shown(plan.rows) else []
    done = aggregate_by(plan.rows, plan.keys, state)
    return _named(done.select(*keys, *plan.results()), request)


def _and_none(rows: DataFrame) -> DataFrame:
    """The rows and a null: where there is no row, Spark would not call the function at all."""
    kind = rows.schema[0].dataType
    none = rows.sparkSession.range(1).select(F.lit(None).cast(kind))
    return rows.union(none)


def _only(request: RoutingRequest, columns: Sequence[str]) -> RoutingRequest:
    """The columns that aggregates read, in front, and the key: others may be of any type."""
    names = list(dict.fromkeys([*columns, *request.key.column_names]))
    rows = request.rows.select(*map(column, names))
    # Rows without a column could not be counted.
    return replace(request, rows=rows, columns=tuple(names[: len(columns) or 1]))


def _named(result: DataFrame, request: RoutingRequest) -> DataFrame:
    """A result with the key's columns under the names that the user knows."""
    if not request.key.shown or not keys_are_shown(result):
        return result
    return result.toDF(*request.key.names, *result.columns[len(request.key.names) :])
