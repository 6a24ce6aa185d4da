"""Rows on their way to a function whose cost depends on them: routed, timed, observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from unskew._spark.costs.samples import JobCosts, TaskCosts, read
from unskew._spark.costs.timer import COSTS, HASH, PART, ArrowBatches, Kind, PandasFrames, timed
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, check_rows
from unskew._spark.frames.physical_plan import check_order_may_matter
from unskew._spark.frames.schemas import struct_of
from unskew._spark.routing.costliest_first import CostliestFirst
from unskew._spark.routing.online import routed_by_task
from unskew.errors import ParameterError, ParameterTypeError
from unskew.partitioners import Proactive, ShuffleGrouping
from unskew.partitioners.contract import check_workers
from unskew.sketches.cost_pair import CostPair, CostShape

SHAPE = CostShape(epsilon=0.002)
"""Larger matrices than the paper's: here they travel once a batch, and most cells are empty."""

Function = Callable[[Iterator[Any]], Iterator[Any]]
CostKey = str | Sequence[str] | Column


@dataclass(frozen=True, slots=True)
class Work:
    """A user's function with its result's schema, as `mapInArrow` or `mapInPandas` has it."""

    function: Function
    schema: StructType
    form: Literal["arrow", "pandas"]
    cost_key: CostKey
    workers: int
    shape: CostShape

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        function: Function,
        schema: StructType | str,
        form: Literal["arrow", "pandas"],
        cost_key: CostKey,
        workers: int | None,
    ) -> Work:
        """Check everything before any row moves."""
        check_rows("df", rows)
        if not callable(function):
            raise ParameterTypeError("func", function, "a function of an iterator of batches")
        parsed = struct_of(schema)
        for name in (HASH, PART, COSTS):
            if name in rows.columns or name in parsed.names:
                raise ParameterError(f"a column is called {name!r}, a name that unskew needs")
        count = slots(rows) if workers is None else workers
        check_workers(count)
        work = cls(function, parsed, form, cost_key, count, SHAPE)
        rows.select(work.hash_of(rows))  # refuses unknown columns and types without a hash
        return work

    def hash_of(self, rows: DataFrame) -> Column:
        """The hash of the cost key, a column or an expression."""
        if isinstance(self.cost_key, Column):
            return F.xxhash64(self.cost_key)
        return KeyColumns.of(rows, self.cost_key).hash

    def alone(self, rows: DataFrame) -> DataFrame:
        """What Spark does without us."""
        return self._map(rows, self.function, self.schema)

    def dealt(self, rows: DataFrame, worker: Column) -> DataFrame:
        """The function on rows that go where `worker` says, once."""
        return self.alone(_placed(rows, worker, self.workers))

    def timed(self, rows: DataFrame, worker: Column | None) -> DataFrame:
        """The same, timed; what each task learned is on one of its rows, in the column `COSTS`."""
        marked = rows.withColumn(HASH, self.hash_of(rows)).withColumn(PART, F.spark_partition_id())
        if worker is not None:
            # The helper columns stay last: the tasks find them by position.
            marked = _placed(marked, worker, self.workers)
        kind: Kind = ArrowBatches() if self.form == "arrow" else PandasFrames(self.schema.names)
        schema = StructType([*self.schema.fields, StructField(COSTS, BinaryType())])
        return self._map(marked, timed(self.function, kind, self.shape), schema)

    def watched(self, rows: DataFrame, worker: Column | None) -> tuple[DataFrame, Observation]:
        """The same without that column; what is learned arrives with the first action."""
        observation = Observation()
        seen = self.timed(rows, worker).observe(observation, F.collect_list(COSTS).alias("costs"))
        return seen.drop(COSTS), observation

    def learned_from(self, observation: Observation, wait: float = 10.0) -> JobCosts | None:
        """What the tasks of a finished action learned; None if there was no action.

        Connect may answer without the metric: that is None too.
        """
        seen = read(observation, wait)
        if seen is None or "costs" not in seen:
            return None
        return self.joined(seen["costs"])

    def joined(self, costs: Iterable[bytes]) -> JobCosts:
        """What all tasks learned together."""
        return JobCosts.of(self.shape, map(TaskCosts.from_bytes, costs))

    def in_turn(self, rows: DataFrame) -> Column:
        """Round robin, from another worker in each task."""
        check_order_may_matter(rows, "sg")
        return routed_by_task(ShuffleGrouping(self.workers), self.hash_of(rows), True)

    def by_cost(self, rows: DataFrame, pair: CostPair) -> Column:
        """The worker with the least expected cost so far, in each task."""
        check_order_may_matter(rows, "posg")
        shape = pair.shape
        # Tasks that run later cannot answer: a source never asks.
        posg = Proactive(
            self.workers, epsilon=shape.epsilon, delta=shape.delta, seed=shape.seed,
            learned=pair.learned(), resync=0,
        )  # fmt: skip
        return routed_by_task(CostliestFirst(posg), self.hash_of(rows), True)

    def _map(self, rows: DataFrame, function: Function, schema: StructType) -> DataFrame:
        if self.form == "arrow":
            return rows.mapInArrow(function, schema)
        return rows.mapInPandas(function, schema)


def _placed(rows: DataFrame, worker: Column, workers: int) -> DataFrame:
    name = helper_name("worker", rows)
    return rows.withColumn(name, worker).repartitionById(workers, F.col(name)).drop(name)


def slots(rows: DataFrame) -> int:
    """How many tasks run at a time, as far as the session tells."""
    spark = rows.sparkSession
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Connect has no context, and says so with an error of its own.
        known = spark.conf.get("spark.default.parallelism", None)
        return int(known or str(spark.conf.get("spark.sql.shuffle.partitions")))
