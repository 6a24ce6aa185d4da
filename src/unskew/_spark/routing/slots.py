"""Slots and pins: workers that keep their machines from batch to batch.

A pin is joined to the rows of its worker, and joins want `hashpartitioning`, not the placement by
id. So each worker gets a slot: a number whose hash is the worker. Slots depend on the number of
workers; they are looked up again on every start, and never written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.routing.native import array_literal


@dataclass(frozen=True, slots=True)
class Slots:
    """One slot for each worker."""

    numbers: tuple[int, ...]

    @classmethod
    def of(cls, spark: SparkSession, workers: int) -> Slots:
        """Ask Spark where it sends the first few numbers, until every worker has one."""
        found: dict[int, int] = {}
        tried = 0
        while len(found) < workers:
            more = spark.range(tried, tried + 16 * workers, 1, 1)
            number = F.col("id").cast("int")
            homes = more.select(number, F.pmod(F.hash(number), F.lit(workers)))
            for slot, worker in homes.collect():
                found.setdefault(worker, slot)
            tried += 16 * workers
        return cls(tuple(found[worker] for worker in range(workers)))

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self.numbers)

    def of_worker(self, worker: Column) -> Column:
        """The slot of a worker."""
        return F.get(array_literal(self.numbers, "int"), worker)


def place_by_slot(rows: DataFrame, slot: str, workers: int) -> DataFrame:
    """Move each row to the worker whose slot is in the column `slot`."""
    return rows.repartition(workers, slot)


@dataclass(frozen=True, slots=True, eq=False)
class Pins:
    """One row per worker, kept by the executor on which the worker runs.

    Spark runs a task near the blocks that it reads, unless it must wait long for a free core there
    (`spark.locality.wait`). So the rows of every batch are joined to the row of their worker.
    """

    slots: Slots
    rows: DataFrame
    partitions: tuple[int, ...]
    """Of each worker: its own number, unless another partition is where the worker was before."""
    executors: tuple[str, ...]
    """Of each worker."""

    @classmethod
    def of(cls, spark: SparkSession, workers: int, before: Sequence[str] = ()) -> Pins:
        """Place one row per worker, on the executor that it was on `before` if that can be."""
        slots = Slots.of(spark, workers)
        numbers = spark.createDataFrame([(number,) for number in slots.numbers], "slot int")
        rows = place_by_slot(numbers, "slot", workers).localCheckpoint()
        found = _executors(rows, workers)
        partitions = homes(before, found)
        mine = Slots(tuple(slots.numbers[partition] for partition in partitions))
        return cls(mine, rows, partitions, tuple(found[partition] for partition in partitions))

    def place(self, rows: DataFrame, worker: str) -> DataFrame:
        """Rows on the partition that the column `worker` names, which is then dropped."""
        slot = helper_name("slot", rows)
        routed = rows.withColumn(slot, self.slots.of_worker(F.col(worker)))
        sent = place_by_slot(routed.drop(worker), slot, self.slots.workers)
        pins = self.rows.withColumnRenamed("slot", slot)
        # Spark asks the left side first where a task should run, and a shuffle would answer with
        # all hosts that hold a fifth of it. A merge join keeps the sides as they are written; rows
        # of a partition have one slot, so that there is nothing to sort.
        return pins.hint("merge").join(sent, slot).drop(slot)


def homes(before: Sequence[str], found: Sequence[str]) -> tuple[int, ...]:
    """A partition for each worker, on the executor that it was on before as far as there are any.

    >>> homes(["a", "b", "b"], ["b", "a", "c", "b"])
    (1, 0, 3, 2)
    """
    free = list(range(len(found)))
    chosen: dict[int, int] = {}
    for worker, executor in enumerate(before[: len(found)]):
        partition = next((each for each in free if found[each] == executor), None)
        if partition is not None:
            chosen[worker] = partition
            free.remove(partition)
    return tuple(
        chosen[worker] if worker in chosen else free.pop(0) for worker in range(len(found))
    )


def _executors(kept: DataFrame, partitions: int) -> list[str]:
    """The executor that keeps each partition of a local checkpoint; empty if it was lost."""
    kept.count()  # Spark looks where blocks are when a job starts, and then not again.
    scheduler: Any = kept.sparkSession.sparkContext._jsc.sc()
    plan: Any = kept._jdf.logicalPlan()
    holders = [scheduler.getPreferredLocs(plan.rdd(), each) for each in range(partitions)]
    return [str(each.apply(0).toString()) if each.size() else "" for each in holders]


@contextmanager
def pinned_shuffle_conf(session: SparkSession, workers: int) -> Iterator[None]:
    """Set what keeps workers in place while Spark plans; the user's settings are restored."""
    wanted = {
        # It would merge small partitions, and with them workers; and every stage would be a job.
        "spark.sql.adaptive.enabled": "false",
        # Else fewer workers than this are taken for too little parallelism.
        "spark.sql.shuffle.partitions": str(workers),
    }
    before = {name: session.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
