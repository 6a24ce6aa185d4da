"""Aggregates in Python as functions that Spark calls: fold rows, merge states.

All aggregates of a query share one state, a pickled list: Spark allows a single function that takes
its rows batch by batch, and only such a function needs no more memory than its state.
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
from pyspark.sql.types import BinaryType, DataType, StructField, StructType
from pyspark.util import PythonEvalType

from unskew._spark.frames.arrow_types import arrow_type
from unskew._spark.frames.keys import column
from unskew.aggregates import Aggregate

BY_BATCH = hasattr(PythonEvalType, "SQL_GROUPED_AGG_ARROW_ITER_UDF")
"""Whether this Spark hands the rows of a group over batch by batch; 4.1 does not yet."""

Batches = Iterator[pa.Array]
Call = Callable[[Column], Column]


@dataclass(frozen=True, slots=True)
class States:
    """The aggregates of one query, on lists with a state of each."""

    aggregates: tuple[Aggregate, ...]
    columns: tuple[str, ...]
    """What the aggregates read, each column once."""
    results: StructType
    """A field for each aggregate's result, named by its number."""

    @classmethod
    def of(cls, rows: DataFrame, aggregates: Sequence[Aggregate]) -> States:
        """The aggregates of columns of `rows`."""
        names = sorted({name for each in aggregates for name in each.columns})
        types = {name: arrow_type(rows.select(column(name)).schema[0].dataType) for name in names}
        kinds = [each.result_type([types[name] for name in each.columns]) for each in aggregates]
        fields = [
            StructField(str(place), from_arrow_type(kind)) for place, kind in enumerate(kinds)
        ]
        return cls(tuple(aggregates), tuple(names), StructType(fields))

    def zero(self) -> list[Any]:
        """No rows."""
        return [each.zero() for each in self.aggregates]

    def add(self, states: list[Any], rows: pa.RecordBatch) -> list[Any]:
        """Some more rows, which hold `columns` by position; any column will do for none."""
        return [
            each.add(state, rows.select(place) if place else rows)
            for each, state, place in zip(self.aggregates, states, self._places(), strict=True)
        ]

    def merge(self, states: list[Any], others: list[Any]) -> list[Any]:
        """The rows of both."""
        return [
            each.merge(state, other)
            for each, state, other in zip(self.aggregates, states, others, strict=True)
        ]

    def result(self, states: list[Any]) -> dict[str, Any]:
        """The answers, by number."""
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
