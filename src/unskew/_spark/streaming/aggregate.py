"""`agg` on a stream: what Spark does alone, what it merges, what keyed state merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame

from unskew._spark.engine.aggregate_functions import States
from unskew._spark.engine.native_aggregates import NativeAggregate, native
from unskew._spark.frames.keys import column
from unskew._spark.planning.stream_request import Decision, StreamRequest
from unskew._spark.streaming.algebraic import algebraic
from unskew._spark.streaming.state_store_merge import (
    STATE,
    Mode,
    check_mode,
    merged_states,
    state_partials,
)
from unskew._spark.verbs.aggregate import Wanted, checked, title
from unskew.aggregates import Aggregate
from unskew.errors import NeedError, ParameterError

_BY_SPARK = "Spark combines these aggregates before its shuffle"


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Aggregates of a stream, and the decision how they run."""

    rows: DataFrame
    key: tuple[str, ...]
    mode: Mode
    wanted: Wanted
    forms: Mapping[str, NativeAggregate]
    """Those that Spark has."""
    decision: Decision

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        key: tuple[str, ...],
        request: StreamRequest,
        mode: Mode,
        columns: Sequence[Column | Aggregate],
        named: Mapping[str, Column | Aggregate],
    ) -> Aggregation:
        """Check everything, and decide."""
        wanted = checked(rows, [*((title(each), each) for each in columns), *named.items()])
        ours = {name: each for name, each in wanted if not isinstance(each, Column)}
        known = {name: form for name, each in ours.items() if (form := native(rows, each))}
        in_spark, mixed = len(known) == len(ours), len(ours) < len(wanted)
        if mixed and not in_spark:
            raise ParameterError(
                "Spark's aggregates cannot run beside aggregates in Python; take unskew's "
                "(count, sum, mean, min, max) instead, or run two queries"
            )
        if in_spark and request.scheme == "auto":
            return cls(rows, key, mode, wanted, known, request.left_to_spark(_BY_SPARK))
        if mixed:
            raise NeedError(
                "Spark's own aggregates came as columns and cannot be taken apart into partial "
                "ones; take unskew's (count, sum, mean, min, max), or scheme='auto'"
            )
        if not in_spark:
            check_mode(mode, [rows.schema[name] for name in key])
        return cls(rows, key, mode, wanted, known, request.decide())

    def run(self) -> DataFrame:
        """The aggregates as a stream."""
        names = list(map(column, self.key))
        route = self.decision.route
        if route.plain:
            return self.rows.groupBy(*names).agg(*map(self._whole, self.wanted))
        placed, worker = route.place(self.rows, self.decision.key)
        slim = placed.drop(worker)
        aggregates: dict[str, Aggregate] = dict(self.wanted)  # type: ignore[arg-type]
        if len(self.forms) == len(aggregates):
            partials, merges = algebraic(self.rows, aggregates, self.forms, self.key[0])
            parts = partials.of(slim, self.key, route.workers)
            return parts.groupBy(*names).agg(*merges)
        states = States.of(self.rows, list(aggregates.values()))
        parts = state_partials(states, self.key[0]).of(slim, self.key, route.workers)
        done = merged_states(parts, self.key, states, self.mode)
        return done.select(*names, *(self._result(place) for place in range(len(aggregates))))

    def __str__(self) -> str:
        """How it runs, in lines."""
        route = self.decision.route
        lines = [f"route     {self.decision}"]
        if route.plain:
            return "\n".join([*lines, "partial   by Spark, in each task that reads", _STORE])
        lines.append(
            f"partial   in Python, one for each worker and {', '.join(self.key)} in a batch"
        )
        if len(self.forms) == len(self.wanted):
            return "\n".join([*lines, _STORE])
        return "\n".join([*lines, f"merge     in Spark's keyed state, output mode {self.mode}"])

    def _whole(self, pair: tuple[str, Column | Aggregate]) -> Column:
        name, each = pair
        if isinstance(each, Column):
            return each.alias(name) if name else each
        return self.forms[name].whole.alias(name)

    def _result(self, place: int) -> Column:
        name, _ = self.wanted[place]
        result = column(STATE)[str(place)]
        if name in self.forms:
            result = result.cast(self.forms[name].kind)
        return result.alias(name)


_STORE = "merge     by Spark's aggregates in its state store, any output mode"
