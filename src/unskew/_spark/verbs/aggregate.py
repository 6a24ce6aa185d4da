"""`groupBy(...).agg(...)`: in Spark where it has the aggregates, else in Python, in two steps.

Spark combines its own aggregates before the shuffle, so that skew costs nothing; a plan would only
add a pass. Aggregates in Python have no such step: their rows are spread by a plan, each worker
makes a partial state of each of its keys, and the states are merged by key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.planning.request import RoutingRequest
from unskew.aggregates import Aggregate
from unskew.partitioners import Need


def aggregated(
    request: RoutingRequest,
    columns: Sequence[Column | Aggregate],
    named: Mapping[str, Column | Aggregate],
) -> DataFrame:
    """One row for each key: its columns, then the aggregates."""
    rows, key = request.rows, request.key
    plan = AggregationPlan.of(rows, key.names, columns, named)
    if not plan.in_spark:
        return _in_python(plan, request)
    if request.scheme == "auto":
        request.left_to_spark("it combines these aggregates before the shuffle")
        return rows.groupBy(*plan.keys).agg(*plan.whole())
    if plan.has_columns:
        # They cannot be split into partial aggregates: all rows of a key must be in one place.
        results = rows.groupBy(*plan.keys).agg(*plan.whole()).columns
        route = request.needing(Need.WHOLE_KEY).plan().route
        placed, worker = route.place(rows, key, beside=results)
        return placed.groupBy(worker, *plan.keys).agg(*plan.whole()).drop(worker)
    placed, worker = request.plan().route.place(rows, key)
    partial = placed.groupBy(worker, *plan.keys).agg(*plan.partials())
    return partial.groupBy(*plan.keys).agg(*plan.merged())


def _in_python(plan: AggregationPlan, request: RoutingRequest) -> DataFrame:
    functions, keys, state = plan.functions(), plan.keys, plan.state
    route = request.plan().route
    if route.plain:
        done = plan.rows.groupBy(*keys).agg(functions.whole(functions.input).alias(state))
    else:
        placed, worker = route.place(plan.rows, request.key)
        partial = placed.groupBy(worker, *keys).agg(functions.fold(functions.input).alias(state))
        done = partial.groupBy(*keys).agg(functions.merge(F.col(state)).alias(state))
    return done.select(*keys, *plan.results())
