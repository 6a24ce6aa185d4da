"""Partial results of a micro-batch, made inside the tasks: one row for each worker and key."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from unskew._spark.frames.arrow_keys import KeyGroups
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import column
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.frames.schemas import arrow_schema
from unskew._spark.monitoring.hot_keys import key_at, to_text, top
from unskew._spark.monitoring.listener import OBSERVED

FLUSHED_ROWS, FLUSHED_BYTES = 1 << 17, 1 << 28
"""How much a task folds at a time: bounds its memory; far above what most batches bring."""

_REPORT_TYPE = (
    StructType()
    .add("worker", IntegerType())
    .add("rows", LongType())
    .add("keys", LongType())
    .add("seconds", DoubleType())
    .add("hottest", StringType())
)


class Folded(NamedTuple):
    """The partial results of several groups."""

    columns: list[pa.Array]
    repeats: list[int] | None
    """How many rows each group has; one if None."""


Fold = Callable[[Sequence[pa.RecordBatch]], Folded]
"""From the rows of each group, without the key, to partial results."""


@dataclass(frozen=True, slots=True)
class Partials:
    """The function from rows to partial results, with its input and output columns."""

    inputs: tuple[str, ...]
    """The columns that `fold` sees."""
    fold: Fold
    schema: StructType
    """The columns that `fold` returns."""

    def of(
        self,
        placed: DataFrame,
        key: Sequence[str],
        workers: int,
        observation: str | Observation = OBSERVED,
    ) -> DataFrame:
        """The key's columns and the partial results; what each worker did is observed."""
        # By position: Spark finds a column in any case, and gives it its own name.
        found = placed.select(*map(column, key)).schema
        fields = dict(zip(key, found, strict=True))
        report = helper_name("report", key, self.schema.names)
        keys = StructType([StructField(name, fields[name].dataType) for name in key])
        schema = StructType([*keys, *self.schema]).add(report, _REPORT_TYPE)
        # By position: a column of the key may be an input too.
        renamed = [column(name).alias(f"k{place}") for place, name in enumerate(key)]
        values = [column(name).alias(f"v{place}") for place, name in enumerate(self.inputs)]
        task = _task(self.fold, len(key), self.inputs, arrow_schema(schema))
        made = placed.select(*renamed, *values).mapInArrow(Prompt(task), schema)
        observed = made.observe(
            observation,
            F.collect_list(column(report)).alias("tasks"),
            F.max(F.lit(workers)).alias("workers"),
        )
        # What makes a column an event time is in its metadata, and Python has lost it.
        marked = [column(name).alias(name, metadata=fields[name].metadata) for name in key]
        return observed.select(*marked, *(column(field.name) for field in self.schema))


def _task(
    fold: Fold, keys: int, inputs: Sequence[str], schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        worker = context.partitionId() if context else 0
        report: dict[str, Any] = {"worker": worker, "rows": 0, "keys": 0, "seconds": 0.0}
        hot: Counter[str] = Counter()
        # The last partial result waits for the report, which goes with it.
        waiting: list[pa.Array] | None = None
        for table in _flushes(batches):
            started = time.perf_counter()
            groups, made = _folded(table, fold, keys, inputs, hot)
            report["seconds"] += time.perf_counter() - started
            report["rows"] += table.num_rows
            report["keys"] += groups
            if len(made[0]):
                if waiting is not None:
                    yield _finished(waiting, None, schema)
                waiting = made
        if waiting is not None:
            yield _finished(waiting, {**report, "hottest": to_text(hot)}, schema)

    return task


def _folded(
    table: pa.Table, fold: Fold, keys: int, inputs: Sequence[str], hot: Counter[str]
) -> tuple[int, list[pa.Array]]:
    places = list(range(keys))
    groups = KeyGroups.of(table, places)
    values = pa.RecordBatch.from_arrays(groups.rows.columns[keys:], names=list(inputs))
    _count_hottest(groups, places, hot)
    results, repeats = fold(KeyGroups(values, groups.starts).slices())
    return groups.count, [*groups.keys(places, repeats), *results]


def _count_hottest(groups: KeyGroups, places: Sequence[int], hot: Counter[str]) -> None:
    sizes = np.diff(groups.starts)
    columns = [groups.rows.column(place) for place in places]
    for group in top(sizes):
        hot[key_at(columns, int(groups.starts[group]))] += int(sizes[group])


def _finished(
    columns: Sequence[pa.Array], report: dict[str, Any] | None, schema: pa.Schema
) -> pa.RecordBatch:
    """The columns in Spark's types, with the report on the last row."""
    kind = schema.field(len(schema) - 1).type
    reports = pa.array([None] * (len(columns[0]) - 1) + [report], kind)
    typed = [
        each if each.type == field.type else each.cast(field.type)
        for each, field in zip([*columns, reports], schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(typed, schema=schema)


def _flushes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= FLUSHED_ROWS or size >= FLUSHED_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(held)
