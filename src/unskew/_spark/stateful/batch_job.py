"""The one Spark job of a micro-batch: rows go to their workers, and come back as output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.routing.native import worker_expression
from unskew._spark.routing.slots import Pins
from unskew._spark.stateful.worker_task import WorkerTask
from unskew.partitioners import RoutingTable

Sink = Callable[[DataFrame, int], object]
"""What takes the output of each micro-batch with the number of the batch."""


def worker_column(table: RoutingTable) -> Column:
    """The worker of a row, as an expression of its `hash`.

    Tables are array literals, which Spark passes to generated code by reference: another table is
    the same code, and Spark finds it compiled.
    """
    assert table.static is not None  # Its base is never a scheme that learns.
    return worker_expression(table.static, F.col("hash"), F.col("hash"))


def output_of(
    batch: DataFrame, worker: Column, workers: int, task: WorkerTask, pins: Pins | None
) -> DataFrame:
    """The output of a batch, each worker's on its partition; nothing runs yet."""
    key = KeyColumns.of(batch, list(task.step.schema.key))
    hashed = batch.select(key.hash.alias("hash"), F.struct(batch["*"]).alias("row"))
    if pins is None:
        placed = hashed.repartitionById(workers, worker)
    else:
        placed = pins.place(hashed.withColumn("worker", worker), "worker")
    return placed.mapInArrow(Prompt(task), task.step.schema.output)


def write(output: DataFrame, folder: str, number: int) -> None:
    """Run the job: the output becomes the folder of its batch."""
    output.write.mode("overwrite").parquet(f"{folder}/batch={number}")


def hand_over(held: DataFrame, sink: Sink, number: int, is_done: Callable[[], bool]) -> None:
    """Give the sink output that is checkpointed when it is first read, and run what it leaves out.

    A function may read its output several times, in part or not at all.
    """
    try:
        sink(held, number)
        if not is_done():
            held.write.format("noop").mode("overwrite").save()
    finally:
        _free(held)


def _free(held: DataFrame) -> None:
    """Drop the blocks of a local checkpoint; without this they stay until the driver ends."""
    plan: Any = held._jdf.logicalPlan()
    plan.rdd().unpersist(False)
