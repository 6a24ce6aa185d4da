"""One side of a join: where each row goes, and to how many workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.keys import column, content_hash, key_hash
from unskew._spark.routing.native import by_hash, looked_up
from unskew._spark.routing.perfect_hash import PerfectTable, array_literal
from unskew._spark.routing.worker_column import worker_column
from unskew.partitioners import Partitioner
from unskew.partitioners.split_planning import SplitTable


@dataclass(frozen=True, slots=True)
class SideRoute:
    """How one side goes: most rows to one worker, the rows of some keys to several."""

    partitioner: Partitioner
    """Every key that is not copied."""
    copied: SplitTable
    """Keys that the other side splits: their rows go to all of their workers."""


@dataclass(frozen=True, slots=True)
class Side:
    """The rows of one side."""

    rows: DataFrame
    keys: list[str]
    route: SideRoute
    preserved: bool
    """Whether a row without a partner is in the result."""
    mark: str
    """A column that is never null: whether the row was copied and has partners."""

    def routed(self, worker: str, other: DataFrame) -> DataFrame:
        """The rows, copied as often as need be, with their workers and the mark."""
        one = F.when(self._any_null(), by_hash(content_hash(self.rows), self._workers)).otherwise(
            worker_column(self.rows, self.keys, self.route.partitioner)
        )
        if self.route.copied.keys.size == 0:
            return self.rows.withColumns({worker: one, self.mark: F.lit(False)})
        owners = self._owners()
        if not self.preserved:
            workers = F.coalesce(owners, F.array(one))
            marked = self.rows.withColumn(self.mark, F.lit(False))
            return marked.withColumn(worker, F.explode(workers))
        return self._copied_where_met(worker, one, owners, other)

    def _copied_where_met(
        self, worker: str, one: Column, owners: Column, other: DataFrame
    ) -> DataFrame:
        """Copy only rows whose key the other side has: they have partners somewhere."""
        present = (
            other.where(self._is_copied(other))
            .select(*map(column, self.keys))
            .distinct()
            .withColumn(self.mark, F.lit(True))
        )
        workers = f"{worker}s"
        # The routes are functions of the rows as they came, so they are taken before the join.
        routed = self.rows.withColumns({worker: one, workers: owners})
        met = routed.join(F.broadcast(present), self.keys, "left")
        copies = F.when(F.col(self.mark), F.col(workers)).otherwise(F.array(F.col(worker)))
        marked = met.withColumn(workers, copies).withColumn(
            self.mark, F.coalesce(F.col(self.mark), F.lit(False))
        )
        return marked.withColumn(worker, F.explode(workers)).drop(workers)

    @property
    def _workers(self) -> int:
        return self.route.partitioner.workers

    def _any_null(self) -> Column:
        return reduce(Column.__or__, (column(name).isNull() for name in self.keys))

    def _is_copied(self, rows: DataFrame) -> Column:
        hashes = self.route.copied.keys.view(np.int64).tolist()
        return key_hash(rows, self.keys).isin(hashes)

    def _owners(self) -> Column:
        """The workers of a copied key as an array, null for any other."""
        table = self.route.copied

        def workers(places: PerfectTable, slot: Column) -> Column:
            first = F.get(array_literal(places.spread(table.starts[:-1], 0), "int"), slot)
            count = F.get(array_literal(places.spread(np.diff(table.starts), 1), "int"), slot)
            return F.slice(array_literal(table.owners, "int"), first + 1, count)

        none = F.lit(None).cast("array<int>")
        return looked_up(table.keys, key_hash(self.rows, self.keys), workers, none)
