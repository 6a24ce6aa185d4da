"""Rows onto the partition that is their worker."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.routing.worker_column import (
    WORKER,
    Draw,
    Lowering,
    free_name,
    is_pure,
    lowered,
    with_worker,
    worker_column,
)
from unskew.partitioners import Partitioner
from unskew.partitioners.contract import check_workers


def place(rows: DataFrame, worker: str, workers: int) -> DataFrame:
    """Send each row to the partition that the INT column `worker` names.

    Spark wraps an id that is out of range and takes NULL for 0, in silence; here both fail the
    job. After it, grouping by (worker, key) needs no second shuffle, provided that no Python
    function comes between.
    """
    check_workers(workers)
    checked = rows.withColumn(worker, _checked(F.col(worker), workers))
    return checked.repartitionById(workers, F.col(worker))


def place_by(
    rows: DataFrame,
    key: str | Sequence[str],
    partitioner: Partitioner,
    *,
    lowering: Lowering = "auto",
    draw: Draw = "content",
) -> DataFrame:
    """Send each row to its worker, leaving its columns as they were."""
    if lowered(partitioner, lowering) == "native" and is_pure(partitioner, draw):
        # Inside the shuffle the worker costs no column: as fast as Spark's own repartition.
        worker = worker_column(rows, key, partitioner, lowering=lowering)
        return rows.repartitionById(partitioner.workers, worker)
    name = free_name(rows, WORKER)
    routed = with_worker(rows, key, partitioner, name=name, lowering=lowering, draw=draw)
    return routed.repartitionById(partitioner.workers, F.col(name)).drop(name)


def _checked(ids: Column, workers: int) -> Column:
    message = F.concat(F.lit("worker "), F.coalesce(ids.cast("string"), F.lit("NULL")))
    message = F.concat(message, F.lit(f" is not in 0..{workers - 1}"))
    return F.when(ids.between(0, workers - 1), ids.cast("int")).otherwise(
        F.raise_error(message).cast("int")
    )
