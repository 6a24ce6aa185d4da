"""The cost-aware map: rows routed by expected cost, timed and observed, and whether that pays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from unskew._spark.costs.parts import MapFunction
from unskew._spark.costs.samples import JobCosts, TaskCosts
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

EXPLAINED = 0.05
"""Below this share of explained variance the key says nothing about the cost."""

_SHUFFLE = 0.3  # Seconds that one more stage takes, whatever its size.
_PER_ROW = 4e-6  # Seconds to route, write and read a row of ordinary width.
_GAIN = 0.97  # Forecasts err: only a clear gain is worth a shuffle.

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
        rows.select(made.hash_of(rows))  # raises for unknown columns and types without a hash
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
        hashed, part = helper_name("hash", rows), helper_name("part", rows)
        marked = rows.withColumns({hashed: self.hash_of(rows), part: F.spark_partition_id()})
        if worker is not None:
            # The helper columns stay last: the tasks find them by position.
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

    def learned_from(self, observation: Observation, wait: float = 10.0) -> JobCosts | None:
        """What the tasks of a finished action measured; None if there was no action.

        Connect may answer without the metric: that is None too.
        """
        seen = observed(observation, wait)
        if seen is None or "costs" not in seen:
            return None
        return self.joined(seen["costs"])

    def joined(self, costs: Iterable[bytes]) -> JobCosts:
        """The measurements of all tasks, merged."""
        return JobCosts.of(self.shape, map(TaskCosts.from_bytes, costs))

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


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Whether scheduling by cost pays, and why, in one sentence."""

    pays: bool
    why: str

    def __str__(self) -> str:
        return f"cost-aware scheduling {'used' if self.pays else 'skipped'}: {self.why}"


def break_even(costs: JobCosts, workers: int, times: float = 1.0) -> BreakEven:
    """Forecast the end of the last task, with and without scheduling by cost.

    For `times` as many rows as were measured. Without it, Spark starts a task per input partition,
    the next one where a slot becomes free.
    """
    if not costs.rows or not costs.keys.size:
        return BreakEven(False, "no rows were timed, so their costs are unknown")
    share = explained(costs)
    if share < EXPLAINED:
        return BreakEven(
            False,
            f"the cost does not depend on the key: it explains {share:.0%} of the variance of "
            f"{costs.keys.size} timed rows",
        )
    alone = Machine(workers, workers).makespan(costs.loads * times)
    level = float(costs.loads.sum()) * times / workers
    rows = costs.rows * times
    left = float(costs.seconds.std()) * math.sqrt((1 - share) * rows / workers)
    scheduled = level + left * math.sqrt(2 * math.log(max(workers, 1)))
    scheduled += _SHUFFLE + _PER_ROW * rows / workers
    figures = (
        f"{scheduled:.2g} s scheduled by cost, shuffle included, against {alone:.2g} s for the "
        f"{costs.loads.size} partitions as they are on {workers} slots; the key explains "
        f"{share:.0%} of the variance"
    )
    if scheduled > _GAIN * alone:
        return BreakEven(False, f"no gain expected ({figures})")
    return BreakEven(True, f"gain expected ({figures})")


def explained(costs: JobCosts) -> float:
    """The share of the cost's variance that the key explains.

    Learned on every second sample and tested on the others, so that a key seen once does not
    explain itself.
    """
    if costs.keys.size < 8:
        return 0.0
    pair = CostPair(costs.pair.shape)
    pair.add(np.ascontiguousarray(costs.keys[::2]), np.ascontiguousarray(costs.seconds[::2]))
    keys, seconds = np.ascontiguousarray(costs.keys[1::2]), costs.seconds[1::2]
    spread = float(seconds.var())
    if spread == 0.0:
        return 0.0
    return max(0.0, 1 - float(np.mean((seconds - pair.estimate(keys)) ** 2)) / spread)
