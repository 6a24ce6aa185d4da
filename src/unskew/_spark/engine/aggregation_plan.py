"""The aggregation plan: which aggregates run in Spark, which in Python, and what they return.

Batches, streams and replanned streams all follow it. Results have Spark's types wherever Spark has
the aggregate, also if it ran in Python beside others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampType,
    VariantType,
    YearMonthIntervalType,
)

from unskew._spark.engine.aggregate_functions import (
    NativeAggregate,
    StateFunctions,
    States,
    native,
)
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import column, contains, field_of
from unskew.aggregates import Aggregate, Max, Mean, Min, Sum
from unskew.errors import ParameterError

Wanted = Column | Aggregate


@dataclass(frozen=True, slots=True)
class AggregationPlan:
    """The aggregates of one query by key, checked."""

    rows: DataFrame
    key: tuple[str, ...]
    wanted: tuple[tuple[str, Wanted], ...]
    """What to compute, with the names of the results; Spark names its own columns, here ""."""
    natives: tuple[NativeAggregate | None, ...]
    """The Spark form of each; None for aggregates that need Python, and for Spark's columns."""

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        key: Sequence[str],
        columns: Sequence[Wanted],
        named: Mapping[str, Wanted],
    ) -> AggregationPlan:
        """Check the arguments of `agg`, and find which of them Spark has itself."""
        wanted = (*((_title(each), each) for each in columns), *named.items())
        _check(rows, wanted)
        natives = tuple(
            None if isinstance(each, Column) else native(rows, each) for _, each in wanted
        )
        made = cls(rows, tuple(key), wanted, natives)
        if made.has_columns and not made.in_spark:
            raise ParameterError(
                "Spark's aggregates cannot run beside aggregates in Python; use unskew's "
                "(count, sum, mean, min, max) instead, or aggregate twice"
            )
        return made

    @property
    def has_columns(self) -> bool:
        """Whether some are Spark's own aggregates, which cannot be split into partial ones."""
        return any(isinstance(each, Column) for _, each in self.wanted)

    @property
    def in_spark(self) -> bool:
        """Whether none of them needs Python."""
        pairs = zip(self.wanted, self.natives, strict=True)
        return all(form is not None or isinstance(each, Column) for (_, each), form in pairs)

    @property
    def names(self) -> list[str]:
        """The names of the results."""
        return [name for name, _ in self.wanted]

    @property
    def keys(self) -> list[Column]:
        """The key's columns."""
        return list(map(column, self.key))

    @property
    def aggregates(self) -> list[Aggregate]:
        """All but Spark's columns."""
        return [each for _, each in self.wanted if not isinstance(each, Column)]

    def whole(self) -> list[Column]:
        """The results in one step, where nothing needs Python."""
        columns = []
        for (name, each), form in zip(self.wanted, self.natives, strict=True):
            result = each if form is None else form.whole
            assert isinstance(result, Column)
            columns.append(result.alias(name) if name else result)
        return columns

    @property
    def parts(self) -> list[str]:
        """The names of partial results that Spark merges, beside the key's columns."""
        return [helper_name(f"part{place}", self.key) for place in range(len(self.wanted))]

    def partials(self) -> list[Column]:
        """The partial results of Spark's forms."""
        pairs = zip(self.parts, self._forms(), strict=True)
        return [form.partial.alias(part) for part, form in pairs]

    def merged(self) -> list[Column]:
        """The results, merged from the columns `parts`."""
        trios = zip(self.names, self.parts, self._forms(), strict=True)
        return [form.merge(column(part)).alias(name) for name, part, form in trios]

    @property
    def state(self) -> str:
        """The name of the state, or of the results in one struct, beside the key's columns."""
        return helper_name("state", self.key)

    def states(self) -> States:
        """The aggregates in Python."""
        return States.of(self.rows, self.aggregates)

    def functions(self) -> StateFunctions:
        """The aggregates in Python as functions that Spark calls."""
        return StateFunctions.of(self.rows, self.aggregates)

    def results(self, struct: Column | None = None) -> list[Column]:
        """The results, from a struct; the column `state` if none is given."""
        struct = column(self.state) if struct is None else struct
        columns = []
        for place, (name, form) in enumerate(zip(self.names, self.natives, strict=True)):
            result = struct[str(place)]
            columns.append((result if form is None else form.typed(result)).alias(name))
        return columns

    @property
    def inputs(self) -> StructType:
        """The columns that the aggregates read, each once; one of the key if they read none."""
        names = dict.fromkeys(name for each in self.aggregates for name in each.columns)
        return self.rows.select(*map(column, names or self.key[:1])).schema

    def _forms(self) -> list[NativeAggregate]:
        return [form for form in self.natives if form is not None]


def _check(rows: DataFrame, wanted: Sequence[tuple[str, Wanted]]) -> None:
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
            _check_type(each, source, field_of(rows, source).dataType)


def _check_type(aggregate: Aggregate, name: str, kind: DataType) -> None:
    """Raise for types of which Spark has no such aggregate."""
    what = type(aggregate).__name__.lower()
    if isinstance(aggregate, Sum | Mean) and not isinstance(kind, _ADDED):
        raise ParameterError(
            f"column {name!r} is {kind.simpleString()}: {what} takes numbers and intervals; cast "
            "the column to a number"
        )
    if isinstance(aggregate, Min | Max) and contains(kind, _UNORDERED):
        raise ParameterError(
            f"column {name!r} is {kind.simpleString()}: Spark does not order such values, so they "
            f"have no {what}; aggregate a part of the column"
        )


_ADDED = (
    NumericType,
    StringType,
    TimestampType,
    DayTimeIntervalType,
    YearMonthIntervalType,
    NullType,
)
_UNORDERED = (MapType, VariantType, CalendarIntervalType)


def _title(each: Wanted) -> str:
    """The name of a result that the user gave no name."""
    if isinstance(each, Column) or not isinstance(each, Aggregate):
        return ""
    return f"{type(each).__name__.lower()}({', '.join(each.columns)})"
