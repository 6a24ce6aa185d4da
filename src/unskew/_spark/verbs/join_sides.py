"""One side of a join: where each row goes, and to how many workers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import content_hash
from unskew._spark.frames.physical_plan import is_replayable
from unskew._spark.planning.join import SideRoute
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.routing.native import PerfectTable, array_literal, by_hash, looked_up
from unskew._spark.routing.route import place


@dataclass(frozen=True, slots=True)
class Side:
    """The rows of one side."""

    request: RoutingRequest
    route: SideRoute
    preserved: bool
    """Whether a row without a partner is in the result."""
    has_match: str
    """A column that is never null: whether the row was copied and has partners."""

    @property
    def looks_up_other(self) -> bool:
        """Whether `placed` reads the other side, to see which keys it has."""
        return self.preserved and self.route.copied.keys.size > 0

    def kept(self) -> Side:
        """The same side with its rows computed once and stored by the executors."""
        return replace(
            self, request=self.request.on(self.request.rows.localCheckpoint(eager=False))
        )

    def placed(self, worker: str, other: DataFrame, marked: bool) -> DataFrame:
        """The rows on their workers, copied as often as need be; `marked` adds the mark."""
        by_key = self.route.to == "one by key"
        routed = self._routed(worker, other) if by_key else self._by_no_key(worker)
        if marked and not self.looks_up_other:
            routed = routed.withColumn(self.has_match, F.lit(False))
        workers = self.route.route.workers
        if by_key:
            return place(routed, worker, workers)
        return routed.repartitionById(workers, F.col(worker))

    def _routed(self, worker: str, other: DataFrame) -> DataFrame:
        key, route = self.request.key, self.route.route
        rows = route.ordered(self.request.rows)
        one = F.when(key.any_null, by_hash(content_hash(rows), route.workers)).otherwise(
            route.worker(rows, key)
        )
        if self.route.copied.keys.size == 0:
            return rows.withColumn(worker, one)
        owners = self._owners()
        if not self.preserved:
            return rows.withColumn(worker, F.explode(F.coalesce(owners, F.array(one))))
        return self._copied_where_met(rows, worker, one, owners, other)

    def _by_no_key(self, worker: str) -> DataFrame:
        """Every row to all workers, or each to some worker."""
        rows, workers = self.request.rows, self.route.route.workers
        if self.route.to == "all":
            found = rows.where(~self.request.key.any_null)  # Others have no partner.
            return found.withColumn(worker, F.explode(F.sequence(F.lit(0), F.lit(workers - 1))))
        if not is_replayable(rows):
            return rows.withColumn(worker, by_hash(content_hash(rows), workers))
        # Tasks deal in turn, each from another worker on, and do it again when they run again.
        turn = F.monotonically_increasing_id() + F.spark_partition_id()
        return rows.withColumn(worker, F.pmod(turn, F.lit(workers)).cast("int"))

    def _copied_where_met(
        self, rows: DataFrame, worker: str, one: Column, owners: Column, other: DataFrame
    ) -> DataFrame:
        """Copy only rows whose key the other side has: they have partners somewhere."""
        present = (
            other.where(self._is_copied())
            .select(*self.request.key.columns)
            .distinct()
            .withColumn(self.has_match, F.lit(True))
        )
        workers = helper_name("workers", rows)
        # The routes are functions of the rows as they came, so they are taken before the join.
        routed = rows.withColumns({worker: one, workers: owners})
        met = routed.join(F.broadcast(present), list(self.request.key.column_names), "left")
        copies = F.when(F.col(self.has_match), F.col(workers)).otherwise(F.array(F.col(worker)))
        marked = met.withColumn(workers, copies).withColumn(
            self.has_match, F.coalesce(F.col(self.has_match), F.lit(False))
        )
        return marked.withColumn(worker, F.explode(workers)).drop(workers)

    def _is_copied(self) -> Column:
        hashes = self.route.copied.keys.view(np.int64).tolist()
        return self.request.key.hash.isin(hashes)

    def _owners(self) -> Column:
        """The workers of a copied key as an array, null for any other."""
        table = self.route.copied

        def workers(places: PerfectTable, slot: Column) -> Column:
            first = F.get(array_literal(places.spread(table.starts[:-1], 0), "int"), slot)
            count = F.get(array_literal(places.spread(np.diff(table.starts), 1), "int"), slot)
            return F.slice(array_literal(table.owners, "int"), first + 1, count)

        none = F.lit(None).cast("array<int>")
        return looked_up(table.keys, self.request.key.hash, workers, none)
