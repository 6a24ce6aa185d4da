"""`groupBy(...).agg(...)`: natively where Spark has the aggregate, else in Python, in two steps.

Spark combines its own aggregates before the shuffle, so that skew costs nothing; a plan would only
add a pass. Aggregates in Python have no such step: their rows are spread by a plan, each worker
makes a partial state of each of its keys, and the states are merged by key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.engine.aggregate_functions import StateFunctions
from unskew._spark.engine.native_aggregates import NativeAggregate, native
from unskew._spark.planning.request import RoutingRequest
from unskew.aggregates import Aggregate
from unskew.errors import ParameterError, UnknownNameError
from unskew.partitioners import Need

Wanted = list[tuple[str, Column | Aggregate]]

_STATE = "__unskew_state"


def aggregated(
    request: RoutingRequest,
    columns: Sequence[Column | Aggregate],
    named: Mapping[str, Column | Aggregate],
) -> DataFrame:
    """One row for each key: its columns, then the aggregates."""
    rows = request.rows
    wanted = checked(rows, [*((title(each), each) for each in columns), *named.items()])
    forms = {name: native(rows, each) for name, each in wanted if not isinstance(each, Column)}
    known = {name: form for name, form in forms.items() if form is not None}
    mixed = len(forms) < len(wanted)
    if len(known) == len(forms) and (mixed or request.scheme == "auto"):
        return _whole(request, [_expression(pair, known) for pair in wanted])
    if len(known) == len(forms):
        return _in_two_steps(request, known)
    if mixed:
        raise ParameterError(
            "Spark's aggregates cannot run beside aggregates in Python; take unskew's "
            "(count, sum, mean, min, max) instead, or aggregate twice and join"
        )
    return _in_python(request, dict(wanted), known)  # type: ignore[arg-type]


def _expression(
    pair: tuple[str, Column | Aggregate], known: Mapping[str, NativeAggregate]
) -> Column:
    name, each = pair
    if not isinstance(each, Column):
        return known[name].whole.alias(name)
    return each.alias(name) if name else each


def _whole(request: RoutingRequest, expressions: Sequence[Column]) -> DataFrame:
    """All rows of a key in one place: as Spark does it, or as the scheme says."""
    names = request.key.columns
    if request.scheme == "auto":
        request.left_to_spark("it combines these aggregates before the shuffle")
        return request.rows.groupBy(*names).agg(*expressions)
    # Spark's own aggregates came as columns: they cannot be taken apart into partial ones.
    route = request.needing(Need.WHOLE_KEY).plan().route
    placed, worker = route.place(request.rows, request.key)
    return placed.groupBy(worker, *names).agg(*expressions).drop(worker)


def _in_two_steps(request: RoutingRequest, forms: Mapping[str, NativeAggregate]) -> DataFrame:
    placed, worker = request.plan().route.place(request.rows, request.key)
    names = request.key.columns
    states = {name: f"{_STATE}{number}" for number, name in enumerate(forms)}
    partial = [form.partial.alias(states[name]) for name, form in forms.items()]
    merged = [form.merge(F.col(states[name])).alias(name) for name, form in forms.items()]
    return placed.groupBy(worker, *names).agg(*partial).groupBy(*names).agg(*merged)


def _in_python(
    request: RoutingRequest,
    aggregates: Mapping[str, Aggregate],
    known: Mapping[str, NativeAggregate],
) -> DataFrame:
    rows, names = request.rows, request.key.columns
    functions = StateFunctions.of(rows, list(aggregates.values()))
    route = request.plan().route
    if route.plain:
        done = rows.groupBy(*names).agg(functions.whole(functions.input).alias(_STATE))
    else:
        placed, worker = route.place(rows, request.key)
        partial = placed.groupBy(worker, *names).agg(functions.fold(functions.input).alias(_STATE))
        done = partial.groupBy(*names).agg(functions.merge(F.col(_STATE)).alias(_STATE))
    results = []
    for number, name in enumerate(aggregates):
        result = F.col(_STATE)[str(number)]
        if name in known:
            result = result.cast(known[name].kind)
        results.append(result.alias(name))
    return done.select(*names, *results)


def checked(rows: DataFrame, wanted: Wanted) -> Wanted:
    """What is to be aggregated, with titles; refuse what cannot be."""
    if not wanted:
        raise ParameterError("agg has nothing to aggregate; give it count() or another aggregate")
    for name, each in wanted:
        if isinstance(each, Column):
            continue
        if not isinstance(each, Aggregate):
            raise ParameterError(
                f"{name or each!r} is neither a column nor an aggregate with columns, "
                "result_type, zero, add, merge and result"
            )
        for source in each.columns:
            if source not in rows.columns:
                raise UnknownNameError("column", source, rows.columns)
    return wanted


def title(each: Column | Aggregate) -> str:
    """What a column is called that the user gave no name; Spark names its own."""
    if isinstance(each, Column) or not isinstance(each, Aggregate):
        return ""
    return f"{type(each).__name__.lower()}({', '.join(each.columns)})"
