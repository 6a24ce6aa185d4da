"""The map of rows dealt by key (POSG): routed by expected cost, timed and observed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from unskew._spark.costs.pair_bytes import from_bytes
from unskew._spark.costs.parts import MapFunction
from unskew._spark.costs.timer import ArrowBatches, BatchKind, PandasFrames, timed
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, check_rows
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.frames.schemas import struct_of
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.side_jobs import observed
from unskew._spark.routing.online import CostliestFirst, routed_by_task
from unskew.errors import ParameterTypeError
from unskew.partitioners import Proactive, ShuffleGrouping
from unskew.partitioners.contract import check_workers
from unskew.sketches.cost_pair import CostPair, CostShape

SHAPE = CostShape(epsilon=0.002)
"""Larger matrices than the paper's: here they travel once a batch, and most cells are empty."""

CostKey = str | Sequence[str] | Column


@dataclass(frozen=True, slots=True)
class CostAwareMap:
    """A user's function with its result's schema, as `mapInArrow` or `mapInPandas` takes it."""

    function: MapFunction
    schema: StructType
    form: Literal["arrow", "pandas"]
    cost_key: CostKey
    workers: int
    shape: CostShape
    costs: str
    """The helper column in which tasks return what they measured."""

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        function: MapFunction,
        schema: StructType | str,
        form: Literal["arrow", "pandas"],
        cost_key: CostKey,
        workers: int | None,
    ) -> CostAwareMap:
        """Check all arguments before any job runs."""
        check_rows("df", rows)
        if not callable(function):
            raise ParameterTypeError("func", function, "a function of an iterator of batches")
        parsed = struct_of(schema)
        count = Machine.of(rows.sparkSession).slots if workers is None else workers
        check_workers(count)
        costs = helper_name("costs", parsed.names)
        made = cls(function, parsed, form, cost_key, count, SHAPE, costs)
        rows.select(made.hash_of(rows)).schema  # noqa: B018 - raises for unknown columns and types
        return made

    def hash_of(self, rows: DataFrame) -> Column:
        """The hash of the cost key, a column or an expression."""
        if isinstance(self.cost_key, Column):
            return F.xxhash64(self.cost_key)
        return KeyColumns.of(rows, self.cost_key).hash

    def plain(self, rows: DataFrame) -> DataFrame:
        """Plain Spark's map."""
        return self._map(rows, self.function, self.schema)

    def placed(self, rows: DataFrame, worker: Column) -> DataFrame:
        """The map of rows placed by `worker`, without timing."""
        return self.plain(_placed(rows, worker, self.workers))

    def timed(self, rows: DataFrame, worker: Column | None) -> DataFrame:
        """The timed map; each task's measurements are on one of its rows, in the column `costs`."""
        # It stays the last column: the tasks find it by position.
        marked = rows.withColumn(helper_name("hash", rows), self.hash_of(rows))
        if worker is not None:
            marked = _placed(marked, worker, self.workers)
        kind: BatchKind = (
            ArrowBatches(self.costs)
            if self.form == "arrow"
            else PandasFrames(self.schema.names, self.costs)
        )
        schema = StructType([*self.schema.fields, StructField(self.costs, BinaryType())])
        return self._map(marked, timed(self.function, kind, self.shape), schema)

    def watched(self, rows: DataFrame, worker: Column | None) -> tuple[DataFrame, Observation]:
        """The timed map without that column; the first action fills the observation."""
        observation = Observation()
        collected = F.collect_list(self.costs).alias("costs")
        seen = self.timed(rows, worker).observe(observation, collected)
        return seen.drop(self.costs), observation

    def learned_from(self, observation: Observation, wait: float = 10.0) -> CostPair | None:
        """What the tasks of a finished action measured; None if there was no action.

        Connect may answer without the metric: that is None too.
        """
        seen = observed(observation, wait)
        if seen is None or "costs" not in seen:
            return None
        return self.joined(seen["costs"])

    def joined(self, costs: Iterable[bytes]) -> CostPair:
        """The measurements of all tasks, merged."""
        return reduce(CostPair.merge, map(from_bytes, costs), CostPair(self.shape))

    def round_robin(self, rows: DataFrame) -> Column:
        """Round robin, starting from a different worker in each task."""
        return routed_by_task(ShuffleGrouping(self.workers), self.hash_of(rows), True)

    def by_cost(self, rows: DataFrame, pair: CostPair) -> Column:
        """The worker with the least expected cost so far, in each task."""
        shape = pair.shape
        # Tasks that run later cannot answer: a source never asks.
        posg = Proactive(
            self.workers, epsilon=shape.epsilon, delta=shape.delta, seed=shape.seed,
            learned=pair.learned(), resync=0,
        )  # fmt: skip
        return routed_by_task(CostliestFirst(posg), self.hash_of(rows), True)

    def _map(self, rows: DataFrame, function: MapFunction, schema: StructType) -> DataFrame:
        if self.form == "arrow":
            return rows.mapInArrow(Prompt(function), schema)
        return rows.mapInPandas(Prompt(function), schema)


def _placed(rows: DataFrame, worker: Column, workers: int) -> DataFrame:
    name = helper_name("worker", rows)
    return rows.withColumn(name, worker).repartitionById(workers, F.col(name)).drop(name)
