"""Aggregates as Spark runs them: as its own expressions, or as functions in Python.

All aggregates in Python of a query share one state, a pickled list: Spark allows a single function
that takes its rows batch by batch, and only such a function needs no more memory than its state.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from pyspark.util import PythonEvalType

from unskew._spark.frames.keys import column, contains
from unskew._spark.frames.schemas import arrow_type
from unskew.aggregates import Aggregate, Count, Distinct, Max, Mean, Min, Sum, TopK
from unskew.aggregates.exact_values import quotient
from unskew.errors import ParameterError

BY_BATCH = hasattr(PythonEvalType, "SQL_GROUPED_AGG_ARROW_ITER_UDF")
"""Whether this Spark passes the rows of a group batch by batch; 4.1 does not."""

Batches = Iterator[pa.Array]
Call = Callable[[Column], Column]

_WIDE = DecimalType(38, 0)
_TOO_LARGE = "1E39"  # As text, it overflows each of Spark's decimals.


@dataclass(frozen=True, slots=True)
class States:
    """The aggregates of one query, with their states in a list."""

    aggregates: tuple[Aggregate, ...]
    columns: tuple[str, ...]
    """The columns that the aggregates read, each once."""
    results: StructType
    """A field for each aggregate's result, named by its number."""
    places: tuple[list[int], ...]
    """Which of the columns each aggregate reads."""

    @classmethod
    def of(cls, rows: DataFrame, aggregates: Sequence[Aggregate]) -> States:
        """The aggregates, for the column types of `rows`."""
        for each in aggregates:
            check_collation(rows, each)
        names = sorted({name for each in aggregates for name in each.columns})
        types = {name: readable_type(name, kind_of(rows, name)) for name in names}
        kinds = [_carrier(each, [types[name] for name in each.columns]) for each in aggregates]
        fields = [
            StructField(str(place), from_arrow_type(kind)) for place, kind in enumerate(kinds)
        ]
        places = [[names.index(name) for name in each.columns] for each in aggregates]
        return cls(tuple(aggregates), tuple(names), StructType(fields), tuple(places))

    def zero(self) -> list[Any]:
        """The states of no rows."""
        return [each.zero() for each in self.aggregates]

    def add(self, states: list[Any], rows: pa.RecordBatch) -> list[Any]:
        """Add rows, which hold `columns` by position; without `columns`, rows of any column."""
        return [
            each.add(state, rows.select(place) if place else rows)
            for each, state, place in zip(self.aggregates, states, self.places, strict=True)
        ]

    def merge(self, states: list[Any], others: list[Any]) -> list[Any]:
        """Merge two lists of states."""
        return [
            each.merge(state, other)
            for each, state, other in zip(self.aggregates, states, others, strict=True)
        ]

    def result(self, states: list[Any]) -> dict[str, Any]:
        """The results, by number; exact numbers as text, see `_carrier`."""
        pairs = zip(self.aggregates, states, strict=True)
        return {
            str(place): exact_text(each.result(state))
            if isinstance(each, Sum | Mean)
            else each.result(state)
            for place, (each, state) in enumerate(pairs)
        }

    def scalar(self, states: list[Any]) -> pa.Scalar:
        """The results as one Arrow value: Spark would guess types, and has no far years."""
        return pa.array([self.result(states)], arrow_type(self.results))[0]


@dataclass(frozen=True, slots=True)
class StateFunctions:
    """The aggregates of one query, for Spark to call."""

    input: Column
    """The columns that the aggregates read, as one."""
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
                # A null is no row: it only makes Spark call this without any.
                made = states.add(made, pa.RecordBatch.from_struct_array(batch.drop_null()))
            return made

        def merged(batches: Batches) -> list[Any]:
            found = states.zero()
            for batch in batches:
                for other in batch.to_pylist():
                    found = states.merge(found, pickle.loads(other))
            return found

        def merge(batches: Batches) -> Any:
            return states.scalar(merged(batches))

        def combine(batches: Batches) -> Any:
            return pickle.dumps(merged(batches), protocol=5)

        def whole(batches: Batches) -> Any:
            return states.scalar(folded(batches))

        return cls(
            # A struct needs a field, also for those who only count rows.
            F.struct(*map(column, states.columns)) if states.columns else F.struct(F.lit(1)),
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

    def typed(self, result: Column) -> Column:
        """A result of `States` in Spark's type; it overflows here as Spark's own would."""
        kind = self.kind
        return (result.cast(_WIDE) if isinstance(kind, LongType) else result).cast(kind)


def native(rows: DataFrame, aggregate: Aggregate) -> NativeAggregate | None:
    """The aggregate as Spark's own, or None; sketches differ from Spark's in merge and error."""
    match aggregate:
        case Count():
            source = F.lit(1) if aggregate.column is None else column(aggregate.column)
            return _form(rows, F.count(source), lambda part: F.coalesce(F.sum(part), F.lit(0)))
        case Sum():
            return _sum(rows, aggregate.column)
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


def _sum(rows: DataFrame, name: str) -> NativeAggregate:
    value, kind = column(name), kind_of(rows, name)
    if isinstance(kind, DecimalType):
        partial = F.struct(F.sum(value).alias("sum"), F.count(value).alias("count"))
        return _form(rows, F.sum(value), lambda part: _decimal_sum(part, kind), partial)
    if isinstance(kind, IntegralType):
        # Partial sums that Python made are wider, and overflow in the cast.
        return _form(rows, F.sum(value), lambda part: F.sum(part.cast("bigint")))
    return _form(rows, F.sum(value), F.sum)


def _decimal_sum(part: Column, kind: DecimalType) -> Column:
    """The sum of partial sums and counts; null if one has overflowed to null: it had values."""
    value = part["sum"].cast(DecimalType(min(kind.precision + 10, 38), kind.scale))
    overflown = F.bool_or(value.isNull() & (part["count"] > 0))
    return F.when(~overflown, F.sum(value))


def _mean(rows: DataFrame, name: str) -> NativeAggregate:
    value, kind = column(name), kind_of(rows, name)
    exact = isinstance(kind, DecimalType | DayTimeIntervalType | YearMonthIntervalType)
    value = value if exact else value.cast("double")
    partial = F.struct(F.sum(value).alias("sum"), F.count(value).alias("count"))

    def merge(part: Column) -> Column:
        count = F.sum(part["count"])
        if isinstance(kind, DecimalType):
            # Spark's division of decimals has fewer digits than its mean.
            return divided(_decimal_sum(part, kind), count)
        return F.when(count > 0, F.sum(part["sum"]) / count)

    return _form(rows, F.avg(column(name)), merge, partial)


def divided(total: Column, count: Column) -> Column:
    """The mean of decimals as text, from their sum and count."""

    def divide(totals: pa.Array, counts: pa.Array) -> pa.Array:
        pairs = zip(totals.to_pylist(), counts.to_pylist(), strict=True)
        found = [
            None if total is None else exact_text(quotient(total, count)) for total, count in pairs
        ]
        return pa.array(found, pa.string())

    divide.__annotations__ = {"totals": pa.Array, "counts": pa.Array, "return": pa.Array}
    result: Column = arrow_udf(divide, StringType())(total, count)  # type: ignore[call-overload]
    return result


def exact_text(value: Any) -> Any:
    """A whole number or a decimal as text that Spark's casts read; other values as they are."""
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else _TOO_LARGE
    return str(value) if isinstance(value, int) else value


def kind_of(rows: DataFrame, name: str) -> DataType:
    """The type of a column."""
    return rows.select(column(name)).schema[0].dataType


def readable_type(name: str, kind: DataType) -> pa.DataType:
    """The Arrow type of a column that Python aggregates."""
    try:
        return arrow_type(kind)
    except PySparkException as error:
        raise ParameterError(
            f"column {name!r} is {kind.simpleString()}, which Python cannot read; cast it to "
            "another type"
        ) from error


def check_collation(rows: DataFrame, aggregate: Aggregate) -> None:
    """Raise if Python would compare strings without their collation."""
    for name in aggregate.columns if isinstance(aggregate, _COMPARING) else ():
        kind = kind_of(rows, name)
        if contains(kind, StringType, collated=True):
            raise ParameterError(
                f"column {name!r} is {kind.simpleString()}: Python would compare it without its "
                f"collation; use collate({name}, 'UTF8_BINARY')"
            )


_COMPARING = (Min, Max, TopK, Distinct)


def _carrier(aggregate: Aggregate, types: Sequence[pa.DataType]) -> pa.DataType:
    """The type of a result on its way to Spark.

    Whole sums, and sums and means of decimals travel as text: it holds those that overflow, and
    Spark's cast makes of them what its settings say, null, a wrapped number or an error.
    """
    kind = aggregate.result_type(types)
    exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    return pa.string() if exact and isinstance(aggregate, Sum | Mean) else kind
