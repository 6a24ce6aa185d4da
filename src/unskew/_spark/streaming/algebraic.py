"""Counts, sums, means and extremes as partial results that Spark's own aggregates merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from unskew._spark.engine.native_aggregates import NativeAggregate
from unskew._spark.frames.arrow_types import arrow_type
from unskew._spark.frames.keys import column
from unskew._spark.streaming.partials import Folded, Partials
from unskew.aggregates import Aggregate, Count, Max, Mean, Min, Sum
from unskew.aggregates.sum import sum_type, total
from unskew.errors import ParameterError


class _Part(NamedTuple):
    """The partial result of one aggregate."""

    kind: pa.DataType
    of: Callable[[pa.RecordBatch], Any]


def algebraic(
    rows: DataFrame,
    aggregates: Mapping[str, Aggregate],
    forms: Mapping[str, NativeAggregate],
    spare: str,
) -> tuple[Partials, list[Column]]:
    """How to make partial results of aggregates that Spark has, and how Spark merges them.

    `spare` is a column to count rows by where no aggregate reads any.
    """
    inputs = tuple(dict.fromkeys(name for each in aggregates.values() for name in each.columns))
    inputs = inputs or (spare,)
    types = {name: arrow_type(rows.select(column(name)).schema[0].dataType) for name in inputs}
    parts = [_part(each, types) for each in aggregates.values()]
    names = [f"__unskew_part{number}" for number in range(len(parts))]

    def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
        columns = [pa.array([part.of(group) for group in groups], part.kind) for part in parts]
        return Folded(columns, None)

    fields = [
        StructField(name, from_arrow_type(part.kind))
        for name, part in zip(names, parts, strict=True)
    ]
    merged = [
        forms[title].merge(column(name)).alias(title)
        for title, name in zip(aggregates, names, strict=True)
    ]
    return Partials(inputs, fold, StructType(fields)), merged


def _part(aggregate: Aggregate, types: Mapping[str, pa.DataType]) -> _Part:
    match aggregate:
        case Count(column=None):
            return _Part(pa.int64(), lambda rows: rows.num_rows)
        case Count():
            name = str(aggregate.column)
            return _Part(pa.int64(), lambda rows: rows.num_rows - rows.column(name).null_count)
        case Sum(column=name):
            return _Part(
                sum_type(_number(types[name], name)), lambda rows: total(rows.column(name))
            )
        case Mean(column=name):
            return _mean(name, _number(types[name], name))
        case Min(column=name) | Max(column=name):
            return _extreme(name, types[name], isinstance(aggregate, Max))
    raise NotImplementedError(aggregate)


def _mean(name: str, kind: pa.DataType) -> _Part:
    wide = sum_type(kind) if pa.types.is_decimal(kind) else pa.float64()

    def part(rows: pa.RecordBatch) -> Any:
        values = rows.column(name).cast(wide, safe=False)
        return {"sum": pc.sum(values).as_py(), "count": len(values) - values.null_count}

    return _Part(pa.struct([("sum", wide), ("count", pa.int64())]), part)


def _extreme(name: str, kind: pa.DataType, highest: bool) -> _Part:
    if pa.types.is_nested(kind):
        raise ParameterError(
            f"column {name!r} is {kind}: its {'max' if highest else 'min'} cannot be taken in "
            "parts; scheme='auto' leaves it to Spark"
        )
    pick = pc.max if highest else pc.min
    if not pa.types.is_floating(kind):
        # A scalar, not a Python value: clocks that are set back show some hours twice.
        return _Part(kind, lambda rows: pick(rows.column(name)))

    def part(rows: pa.RecordBatch) -> Any:
        values = rows.column(name).drop_null()
        numbers = values.filter(pc.invert(pc.is_nan(values)))
        # NaN is above every number, as in Spark.
        nan = len(numbers) < len(values) and (highest or not len(numbers))
        return float("nan") if nan else pick(numbers)

    return _Part(kind, part)


def _number(kind: pa.DataType, name: str) -> pa.DataType:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return kind
    raise ParameterError(
        f"column {name!r} is {kind}: its sum cannot be taken in parts; "
        "scheme='auto' leaves it to Spark"
    )
