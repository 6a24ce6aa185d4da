"""Aggregates that Spark has itself: in one step, or as partial results and their merge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType

from unskew._spark.frames.keys import column
from unskew.aggregates import Aggregate, Count, Max, Mean, Min, Sum


@dataclass(frozen=True, slots=True)
class NativeAggregate:
    """One aggregate as Spark's expressions."""

    rows: DataFrame
    whole: Column
    partial: Column
    untyped_merge: Callable[[Column], Column]

    @property
    def kind(self) -> DataType:
        """The type of the result. Asking for it has Spark look through the whole plan of `rows`."""
        return self.rows.agg(self.whole.alias("result")).schema["result"].dataType

    def merge(self, part: Column) -> Column:
        """Partial results to the whole; a sum of sums of decimals would be wider than a sum."""
        return self.untyped_merge(part).cast(self.kind)


def native(rows: DataFrame, aggregate: Aggregate) -> NativeAggregate | None:
    """The aggregate as Spark's own, or None. Sketches are not: theirs merge and err otherwise."""
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
