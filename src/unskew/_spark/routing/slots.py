"""Slots and pins: workers that keep their rows, and their machines, from batch to batch.

Stateful steps want `hashpartitioning`, which Spark keeps through checkpoints, unions and cogroups,
and not the placement by id that it forgets. So each worker gets a slot: a number whose hash is the
worker. Slots depend on the number of workers; they are looked up again on every start, and never
written down.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.routing.native import array_literal, worker_expression
from unskew.partitioners import RoutingTable

_PUSHED = "org.apache.spark.sql.catalyst.optimizer.PushDownLeftSemiAntiJoin"
_EXCLUDED = "spark.sql.optimizer.excludedRules"


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

    def worker_of(self, slot: int) -> int:
        """The worker that has a slot."""
        return self.numbers.index(slot)

    def column(self, table: RoutingTable, key_hash: Column) -> Column:
        """The slot to which `table` sends a key."""
        assert table.static is not None  # Its base is never a scheme that learns.
        return never_null(self.of_worker(worker_expression(table.static, key_hash, key_hash)))

    def of_worker(self, worker: Column) -> Column:
        """The slot of a worker."""
        return F.get(array_literal(self.numbers, "int"), worker)


def never_null(slot: Column) -> Column:
    """A slot column that Spark knows to be non-null.

    Otherwise Spark filters a join's inputs by `slot IS NOT NULL`, and then no longer sees that the
    parts of a union are partitioned alike: all state would be shuffled.
    """
    return F.coalesce(slot, F.lit(0))


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

    @classmethod
    def of(cls, spark: SparkSession, workers: int) -> Pins:
        """Place one row per worker."""
        slots = Slots.of(spark, workers)
        numbers = spark.createDataFrame([(number,) for number in slots.numbers], "slot int")
        return cls(slots, place_by_slot(numbers, "slot", workers).localCheckpoint())

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


@contextmanager
def pinned_shuffle_conf(session: SparkSession, workers: int) -> Iterator[None]:
    """Set what keeps placed state in place while Spark plans; the user's settings are restored."""
    wanted = {
        # It would merge small partitions, and with them workers.
        "spark.sql.adaptive.enabled": "false",
        # Else a join on (slot, hash) shuffles both sides, though they are placed by slot.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        # Else fewer workers than this are taken for too little parallelism.
        "spark.sql.shuffle.partitions": str(workers),
        # Else the lookup of touched keys becomes one for each layer, and their union, of which
        # Spark knows no partitioning, is shuffled: tasks as many as layers times workers.
        _EXCLUDED: ",".join(filter(None, (session.conf.get(_EXCLUDED, None), _PUSHED))),
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
