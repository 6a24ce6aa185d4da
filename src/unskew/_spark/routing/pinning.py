"""Workers that stay on their machines from batch to batch.

Spark runs a task near the blocks that it reads, if it need not wait long for a slot there
(`spark.locality.wait`). So each worker gets a row of its own that an executor keeps, and every
batch's rows are joined to it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.routing.perfect_hash import array_literal
from unskew._spark.routing.slots import Slots
from unskew._spark.stateful.layers import placed

_SLOT = "slot"


@dataclass(frozen=True, slots=True, eq=False)
class Pins:
    """A row for each worker, kept by the executor where the worker is to run."""

    slots: Slots
    rows: DataFrame

    @classmethod
    def of(cls, spark: SparkSession, workers: int) -> Pins:
        """Place the rows, once."""
        slots = Slots.of(spark, workers)
        numbers = spark.createDataFrame([(number,) for number in slots.numbers], "slot int")
        return cls(slots, placed(numbers, workers).localCheckpoint())

    def place(self, rows: DataFrame, worker: str) -> DataFrame:
        """Rows on the partition that the column `worker` names, which then is gone."""
        slot = F.get(array_literal(self.slots.numbers, "int"), F.col(worker))
        sent = placed(rows.withColumn(_SLOT, slot).drop(worker), self.slots.workers)
        # Spark asks the left side first where a task should run, and a shuffle would answer with
        # all hosts that hold a fifth of it. A merge join keeps the sides as they are written; rows
        # of a partition have one slot, so that there is nothing to sort.
        return self.rows.hint("merge").join(sent, _SLOT).drop(_SLOT)
