"""`agg` on a stream: in Spark alone, merged by Spark's aggregates, or merged in keyed state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from unskew._spark.engine.aggregate_functions import check_collation, exact_text, readable_type
from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.frames.grouping import keys_are_shown
from unskew._spark.planning.stream_request import Decision, StreamRequest
from unskew._spark.streaming.partials import Folded, Partials
from unskew._spark.streaming.state_store_merge import (
    OutputMode,
    check_keyed_state,
    merged_states,
    state_partials,
)
from unskew.aggregates import Aggregate, Count, Max, Mean, Min, Sum
from unskew.aggregates.sum import total
from unskew.errors import NeedError, ParameterError

_BY_SPARK = "Spark combines these aggregates before its shuffle"
_STORE = "merge     by Spark's aggregates in its state store, any output mode"


@dataclass(frozen=True, slots=True)
class StreamAggregation:
    """The aggregates of a stream, and the decision how they run."""

    plan: AggregationPlan
    mode: OutputMode
    decision: Decision

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        key: tuple[str, ...],
        request: StreamRequest,
        mode: OutputMode,
        columns: Sequence[Column | Aggregate],
        named: Mapping[str, Column | Aggregate],
    ) -> StreamAggregation:
        """Check the arguments, and decide."""
        plan = AggregationPlan.of(rows, key, columns, named)
        if plan.in_spark and request.scheme == "auto":
            return cls(plan, mode, request.left_to_spark(_BY_SPARK))
        if plan.has_columns:
            raise NeedError(
                "Spark's own aggregates cannot be split into partial ones; use unskew's (count, "
                "sum, mean, min, max), or scheme='auto'"
            )
        if not plan.in_spark:
            check_keyed_state(mode, list(rows.select(*plan.keys).schema))
        return cls(plan, mode, request.decide())

    def run(self) -> DataFrame:
        """The aggregates as a stream."""
        plan, route = self.plan, self.decision.route
        if route.plain:
            return plan.rows.groupBy(*plan.keys).agg(*plan.whole())
        placed, worker = route.place(plan.rows, self.decision.key)
        slim = placed.drop(worker)
        if plan.in_spark:
            parts = algebraic_partials(plan).of(slim, plan.key, route.workers)
            return parts.groupBy(*plan.keys).agg(*plan.merged())
        states = plan.states()
        folded = state_partials(states, plan.state, spare=plan.key[0])
        parts = folded.of(slim, plan.key, route.workers)
        done = merged_states(parts, plan.key, plan.state, states, self.mode)
        shown = plan.keys if keys_are_shown(plan.rows) else []
        return done.select(*shown, *plan.results())

    def __str__(self) -> str:
        """How it runs, in lines."""
        lines = [f"route     {self.decision}"]
        if self.decision.route.plain:
            return "\n".join([*lines, "partial   by Spark, in each task that reads", _STORE])
        key = ", ".join(self.plan.key)
        lines.append(f"partial   in Python, one for each worker and {key} in a batch")
        if self.plan.in_spark:
            return "\n".join([*lines, _STORE])
        return "\n".join([*lines, f"merge     in Spark's keyed state, output mode {self.mode}"])


class _Part(NamedTuple):
    """The partial result of one aggregate."""

    kind: pa.DataType
    of: Callable[[pa.RecordBatch], Any]


def algebraic_partials(plan: AggregationPlan) -> Partials:
    """Partial counts, sums, means and extremes, which Spark's own aggregates merge."""
    types = {field.name: readable_type(field.name, field.dataType) for field in plan.inputs}
    for each in plan.aggregates:
        check_collation(plan.rows, each)
    parts = [_part(each, types) for each in plan.aggregates]

    def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
        columns = [pa.array([part.of(group) for group in groups], part.kind) for part in parts]
        return Folded(columns, None)

    fields = [
        StructField(name, from_arrow_type(part.kind))
        for name, part in zip(plan.parts, parts, strict=True)
    ]
    return Partials(tuple(types), fold, StructType(fields))


def _part(aggregate: Aggregate, types: Mapping[str, pa.DataType]) -> _Part:
    match aggregate:
        case Count(column=None):
            return _Part(pa.int64(), lambda rows: rows.num_rows)
        case Count():
            name = str(aggregate.column)
            return _Part(pa.int64(), lambda rows: rows.num_rows - rows.column(name).null_count)
        case Sum(column=name):
            return _sum(name, _number(types[name], name))
        case Mean(column=name):
            return _mean(name, _number(types[name], name))
        case Min(column=name) | Max(column=name):
            kind = aggregate.result_type([types[name]])
            return _Part(kind, lambda rows: _alone(aggregate, rows.select([name])))
    raise NotImplementedError(aggregate)


def _alone(aggregate: Aggregate, rows: pa.RecordBatch) -> Any:
    return aggregate.result(aggregate.add(aggregate.zero(), rows))


def _sum(name: str, kind: pa.DataType) -> _Part:
    if pa.types.is_decimal(kind):
        return _mean(name, kind)
    # Sums of whole numbers overflow when Spark casts them, as its own do.
    wide = pa.decimal128(38, 0) if pa.types.is_integer(kind) else pa.float64()
    return _Part(wide, lambda rows: total(rows.column(name)))


def _mean(name: str, kind: pa.DataType) -> _Part:
    """Sum and count; the sum of decimals as text, which has room for those that overflow."""
    exact = pa.types.is_decimal(kind)

    def part(rows: pa.RecordBatch) -> Any:
        values = rows.column(name)
        values = values if exact else values.cast(pa.float64(), safe=False)
        return {"sum": exact_text(total(values)), "count": len(values) - values.null_count}

    wide = pa.string() if exact else pa.float64()
    return _Part(pa.struct([("sum", wide), ("count", pa.int64())]), part)


def _number(kind: pa.DataType, name: str) -> pa.DataType:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return kind
    raise ParameterError(
        f"column {name!r} is {kind}: its sum cannot be taken in parts; "
        "scheme='auto' leaves it to Spark"
    )
