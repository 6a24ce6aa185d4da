"""Numbers that Spark's own hash partitioning sends where we want them.

Stateful steps want `hashpartitioning`, which Spark keeps through checkpoints, unions and cogroups,
and not the placement by id that it forgets. So each worker gets a slot: a number whose hash is the
worker. Slots depend on the number of workers; they are looked up again on every start, and never
written down.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from unskew._spark.routing.native import worker_expression
from unskew._spark.routing.perfect_hash import array_literal
from unskew.partitioners import RoutingTable


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
        """How many there are."""
        return len(self.numbers)

    def worker_of(self, slot: int) -> int:
        """The worker that has a slot."""
        return self.numbers.index(slot)

    def column(self, table: RoutingTable, key_hash: Column) -> Column:
        """The slot to which `table` sends a key."""
        assert table.static is not None  # Its base is never a scheme that learns.
        worker = worker_expression(table.static, key_hash, row_hash=key_hash)
        return never_null(F.get(array_literal(self.numbers, "int"), worker))


def never_null(slot: Column) -> Column:
    """A slot of which Spark knows that it is never null.

    Else it filters a join's inputs by that, and then no longer sees that the parts of a union are
    partitioned alike: all state would be shuffled.
    """
    return F.coalesce(slot, F.lit(0))
