"""Aggregates as Spark runs them: as its own expressions, or as functions in Python.

All aggregates in Python of a query share one state, a pickled list: Spark allows a single function
that takes its rows batch by batch, and only such a function needs no more memory than its state.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import BinaryType, DataType, DecimalType, StructField, StructType
from pyspark.util import PythonEvalType

from unskew._spark.frames.keys import column
from unskew._spark.frames.schemas import arrow_type
from unskew.aggregates import Aggregate, Count, Max, Mean, Min, Sum

BY_BATCH = hasattr(PythonEvalType, "SQL_GROUPED_AGG_ARROW_ITER_UDF")
"""Whether this Spark passes the rows of a group batch by batch; 4.1 does not."""

Batches = Iterator[pa.Array]
Call = Callable[[Column], Column]


@dataclass(frozen=True, slots=True)
class States:
    """The aggregates of one query, with their states in a list."""

    aggregates: tuple[Aggregate, ...]
    columns: tuple[str, ...]
    """The columns that the aggregates read, each once."""
    results: StructType
    """A field for each aggregate's result, named by its number."""

    @classmethod
    def of(cls, rows: DataFrame, aggregates: Sequence[Aggregate]) -> States:
        """The aggregates, for the column types of `rows`."""
        names = sorted({name for each in aggregates for name in each.columns})
        types = {name: arrow_type(rows.select(column(name)).schema[0].dataType) for name in names}
        kinds = [each.result_type([types[name] for name in each.columns]) for each in aggregates]
        fields = [
            StructField(str(place), from_arrow_type(kind)) for place, kind in enumerate(kinds)
        ]
        return cls(tuple(aggregates), tuple(names), StructType(fields))

    def zero(self) -> list[Any]:
        """The states of no rows."""
        return [each.zero() for each in self.aggregates]

    def add(self, states: list[Any], rows: pa.RecordBatch) -> list[Any]:
        """Add rows, which hold `columns` by position; without `columns`, rows of any column."""
        return [
            each.add(state, rows.select(place) if place else rows)
            for each, state, place in zip(self.aggregates, states, self._places(), strict=True)
        ]

    def merge(self, states: list[Any], others: list[Any]) -> list[Any]:
        """Merge two lists of states."""
        return [
            each.merge(state, other)
            for each, state, other in zip(self.aggregates, states, others, strict=True)
        ]

    def result(self, states: list[Any]) -> dict[str, Any]:
        """The results, by number."""
        pairs = zip(self.aggregates, states, strict=True)
        return {str(place): each.result(state) for place, (each, state) in enumerate(pairs)}

    def _places(self) -> list[list[int]]:
        return [[self.columns.index(name) for name in each.columns] for each in self.aggregates]


@dataclass(frozen=True, slots=True)
class StateFunctions:
    """The aggregates of one query, for Spark to call."""

    input: Column
    """The columns that the aggregates read, as one."""
    fold: Call
    """Rows to a state."""
    merge: Call
    """States to the results, a struct with a field for each aggregate."""
    combine: Call
    """States to a state."""
    whole: Call
    """Rows to the results."""

    @classmethod
    def of(cls, rows: DataFrame, aggregates: Sequence[Aggregate]) -> StateFunctions:
        """Prepare the functions for `rows`."""
        states = States.of(rows, aggregates)

        def folded(batches: Batches) -> list[Any]:
            made = states.zero()
            for batch in batches:
                made = states.add(made, pa.RecordBatch.from_struct_array(batch))
            return made

        def fold(batches: Batches) -> Any:
            return pickle.dumps(folded(batches), protocol=5)

        def merged(batches: Batches) -> list[Any]:
            found = states.zero()
            for batch in batches:
                for other in batch.to_pylist():
                    found = states.merge(found, pickle.loads(other))
            return found

        def merge(batches: Batches) -> Any:
            return states.result(merged(batches))

        def combine(batches: Batches) -> Any:
            return pickle.dumps(merged(batches), protocol=5)

        def whole(batches: Batches) -> Any:
            return states.result(folded(batches))

        return cls(
            # A struct needs a field, also for those who only count rows.
            F.struct(*map(column, states.columns)) if states.columns else F.struct(F.lit(1)),
            _as_udf(fold, BinaryType()),
            _as_udf(merge, states.results),
            _as_udf(combine, BinaryType()),
            _as_udf(whole, states.results),
        )


def _as_udf(function: Callable[[Batches], Any], kind: DataType) -> Call:
    def at_once(rows: Any) -> Any:
        return function(iter([rows]))

    # Spark tells from the annotations what kind of function it is.
    function.__annotations__ = {"batches": Iterator[pa.Array], "return": Any}
    at_once.__annotations__ = {"rows": pa.Array, "return": Any}
    call: Call = arrow_udf(function if BY_BATCH else at_once, kind)  # type: ignore[call-overload]
    return call


@dataclass(frozen=True, slots=True)
class NativeAggregate:
    """One aggregate as Spark expressions: in one step, or as partial results and their merge."""

    rows: DataFrame
    whole: Column
    partial: Column
    untyped_merge: Callable[[Column], Column]

    @property
    def kind(self) -> DataType:
        """The type of the result. Costs an analysis of the whole plan of `rows`."""
        return self.rows.agg(self.whole.alias("result")).schema["result"].dataType

    def merge(self, part: Column) -> Column:
        """Merge partial results; cast, as a sum of decimal sums would be wider than a sum."""
        return self.untyped_merge(part).cast(self.kind)


def native(rows: DataFrame, aggregate: Aggregate) -> NativeAggregate | None:
    """The aggregate as Spark's own, or None; sketches differ from Spark's in merge and error."""
    match aggregate:
        case Count():
            source = F.lit(1) if aggregate.column is None else column(aggregate.column)
            return _form(rows, F.count(source), lambda part: F.coalesce(F.sum(part), F.lit(0)))
        case Sum():
            return _form(rows, F.sum(column(aggregate.column)), F.sum)
        case Min():
            return _form(rows, F.min(column(aggregate.column)), F.min)
        case Max():
            return _form(rows, F.max(column(aggregate.column)), F.max)
        case Mean():
            return _mean(rows, aggregate.column)
    return None


def _form(
    rows: DataFrame, whole: Column, merge: Callable[[Column], Column], partial: Column | None = None
) -> NativeAggregate:
    return NativeAggregate(rows, whole, whole if partial is None else partial, merge)


def _mean(rows: DataFrame, name: str) -> NativeAggregate:
    value = column(name)
    if not isinstance(rows.select(value).schema[0].dataType, DecimalType):
        value = value.cast("double")
    partial = F.struct(F.sum(value).alias("sum"), F.count(value).alias("count"))

    def merge(part: Column) -> Column:
        count = F.sum(part["count"])
        return F.when(count > 0, F.sum(part["sum"]) / count)

    return _form(rows, F.avg(column(name)), merge, partial)
