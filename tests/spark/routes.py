"""A partitioner's route over the rows of a key, in one call."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.routing.route import Draw, Lowering, Route
from unskew.partitioners import Partitioner

WORKER = "__unskew_worker"


def with_worker(
    rows: DataFrame,
    key: str | Sequence[str],
    partitioner: Partitioner,
    *,
    name: str | None = None,
    lowering: Lowering | None = None,
    draw: Draw = "content",
) -> DataFrame:
    return Route.of(partitioner, lowering, draw).with_worker(rows, KeyColumns.of(rows, key), name)


def worker_column(
    rows: DataFrame,
    key: str | Sequence[str],
    partitioner: Partitioner,
    *,
    lowering: Lowering | None = None,
) -> Column:
    return Route.of(partitioner, lowering).worker(rows, KeyColumns.of(rows, key))
