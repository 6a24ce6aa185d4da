"""A route: rows of a key to their workers, and workers to partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, content_hash
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew._spark.routing.native import is_native, worker_expression
from unskew._spark.routing.online import routed_by_task
from unskew.errors import ParameterError
from unskew.partitioners import KeyGrouping, Partitioner, StaticRoutes
from unskew.partitioners.settings import check_independent

Lowering = Literal["native", "online"]
"""How a scheme runs: as a Catalyst expression, or as a router in each sending task."""
Draw = Literal["content", "position"]
"""What decides to which part of a split key a row belongs: a hash of its content (a pure function
of the row, level only where the rows of the key differ) or of its position (always level, for rows
that come in the same order when a task runs again)."""

IN_PLACE = "in-place"
"""What `scheme=` says where rows stay on their input partitions."""


@dataclass(frozen=True, slots=True)
class Route:
    """How rows are sent to workers by their key; `plain` leaves them to Spark's own shuffle."""

    partitioner: Partitioner
    lowering: Lowering
    draw: Draw = "content"
    plain: bool = False
    stays: bool = False
    """Whether rows stay on their input partitions: each makes partial results of its own rows."""
    merges: bool = False
    """Whether partial results of rows that stay go to the workers; else Spark places them."""

    @classmethod
    def of(
        cls, partitioner: Partitioner, lowering: Lowering | None = None, draw: Draw = "content"
    ) -> Route:
        """The route of a partitioner, native where it can be unless `lowering` says otherwise."""
        check_independent(partitioner)
        possible: Lowering = "native" if is_native(partitioner.static) else "online"
        if lowering not in (None, *get_args(Lowering)):
            raise ParameterError(f"lowering={lowering!r} is not native or online")
        if lowering == "native" and possible == "online":
            raise ParameterError(
                f"this {partitioner.scheme} cannot run natively: it learns as it routes, or its "
                "table is too long; use lowering='online'"
            )
        return cls(partitioner, lowering or possible, draw)

    @classmethod
    def to_spark(cls, workers: int = 1) -> Route:
        """The rows are left to Spark's own shuffle."""
        return cls(KeyGrouping(workers), "native", plain=True)

    @classmethod
    def in_place(cls, workers: int = 1) -> Route:
        """No row moves; only partial results do, placed by Spark."""
        return cls(KeyGrouping(workers), "native", stays=True)

    @classmethod
    def merged_on(cls, partitioner: Partitioner) -> Route:
        """No row moves; the partial results of a key go to its worker."""
        return replace(cls.of(partitioner), stays=True, merges=True)

    @property
    def name(self) -> str:
        """The scheme, or "in-place" if no row moves."""
        return IN_PLACE if self.stays else self.partitioner.scheme

    @property
    def workers(self) -> int:
        """How many workers the rows are spread over."""
        return self.partitioner.workers

    @property
    def order_matters(self) -> bool:
        """Whether other rows before a row can change where it goes."""
        if self.partitioner.static is not None and not self.partitioner.static.cut.size:
            return False
        return self.lowering == "online" or self.draw == "position"

    @property
    def _static(self) -> StaticRoutes:
        assert self.partitioner.static is not None  # Else it would not be native.
        return self.partitioner.static

    def with_worker(self, rows: DataFrame, key: KeyColumns, name: str | None = None) -> DataFrame:
        """Add a column, INT, with each row's worker."""
        if self.stays:
            raise ParameterError(
                f"{IN_PLACE} leaves rows where they are: they have no worker; give a plan of "
                "another scheme"
            )
        name = name or helper_name("worker", rows)
        if rows.isStreaming and self.draw == "position":
            # Spark does not number the rows of a stream; a task can.
            return Route.of(self.partitioner, "online").with_worker(rows, key, name)
        rows = self.ordered(rows)
        if self.lowering == "online" or not self.order_matters:
            return rows.withColumn(name, self.worker(rows, key))
        position = helper_name("position", rows, [name])
        # A column of its own: an id that counts rows starts again at every mention.
        numbered = rows.withColumn(position, F.xxhash64(F.monotonically_increasing_id()))
        drawn = worker_expression(self._static, key.hash, row_hash=F.col(position))
        return numbered.withColumn(name, drawn).drop(position)

    def ordered(self, rows: DataFrame) -> DataFrame:
        """The rows in an order that a task repeats when it runs again, if the route depends on it.

        Whatever is done with the routed rows, a retried task then agrees with itself.
        """
        return in_fixed_order(rows) if self.order_matters and not rows.isStreaming else rows

    def worker(self, rows: DataFrame, key: KeyColumns) -> Column:
        """The worker of each row as an INT, to be used once, on `ordered(rows)`.

        Draws are by content.
        """
        if self.lowering == "native":
            return worker_expression(self._static, key.hash, content_hash(rows))
        return routed_by_task(self.partitioner, key.hash, self.order_matters)

    def place(
        self, rows: DataFrame, key: KeyColumns, beside: Iterable[str] = ()
    ) -> tuple[DataFrame, str]:
        """The rows on their workers' partitions, and the name of the worker column.

        No column of `rows` has this name, and none of `beside`.

        After it, grouping by (worker, key) needs no second shuffle, provided that no Python
        function comes between.
        """
        name = helper_name("worker", rows, beside)
        return place(self.with_worker(rows, key, name), name, self.workers), name

    def repartition(self, rows: DataFrame, key: KeyColumns) -> DataFrame:
        """The rows on their workers' partitions, with their columns as they were."""
        if self.stays:
            return rows
        if self.lowering == "native" and not self.order_matters:
            # Inside the shuffle the worker costs no column: as fast as Spark's own repartition.
            return rows.repartitionById(self.workers, self.worker(rows, key))
        name = helper_name("worker", rows)
        routed = self.with_worker(rows, key, name)
        return routed.repartitionById(self.workers, F.col(name)).drop(name)


def place(rows: DataFrame, worker: str, workers: int) -> DataFrame:
    """Send each row to the partition that the INT column `worker` names.

    Spark wraps an id that is out of range and takes NULL for 0, in silence; here both fail the job.
    """
    ids = F.col(worker)
    message = F.concat(F.lit("worker "), F.coalesce(ids.cast("string"), F.lit("NULL")))
    message = F.concat(message, F.lit(f" is not in 0..{workers - 1}"))
    checked = F.when(ids.between(0, workers - 1), ids.cast("int")).otherwise(
        F.raise_error(message).cast("int")
    )
    # Never null, and Spark knows: else a join would filter by it, and route each row twice.
    checked = F.coalesce(checked, F.lit(0))
    return rows.withColumn(worker, checked).repartitionById(workers, F.col(worker))
