"""A routing plan that is made anew between micro-batches, and a merged result kept exactly once.

The plan of a streaming query is fixed when it starts. Inside `foreachBatch` every batch is planned
by itself, so that there each batch can follow a table made of the batch before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import LongType, StructField, StructType
from pyspark.sql.utils import is_remote

from unskew._spark.costs.samples import read
from unskew._spark.engine.aggregate_functions import StateFunctions, States
from unskew._spark.engine.native_aggregates import NativeAggregate, native
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, column
from unskew._spark.frames.session_conf import pinned_shuffle_conf
from unskew._spark.monitoring.feeds import Feed, log_feed
from unskew._spark.monitoring.listener import figures_of, seconds_of
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.planning.stream_request import StreamRequest
from unskew._spark.routing.route import Route
from unskew._spark.routing.slots import Pins
from unskew._spark.streaming.partials import Folded, Partials
from unskew._spark.streaming.replan.partial_store import ROWS, KeptParts
from unskew._spark.streaming.replan.planners import (
    BatchPlanner,
    Outcome,
    SplitPlanner,
    VirtualWorkers,
)
from unskew._spark.streaming.replan.trial import Choosing
from unskew._spark.streaming.state_store_merge import STATE, state_partials
from unskew._spark.verbs.aggregate import checked, title
from unskew.aggregates import Aggregate
from unskew.errors import ParameterError
from unskew.partitioners import ConsistentGrouping, PlannedSplit


@dataclass(slots=True)
class ReplannedStream:
    """A stream whose micro-batches are routed by what the batch before them held, or took.

    `store` gets a Parquet folder `batch=N` for each batch, written anew if Spark repeats the
    batch; every 20th also holds what came before. A planned split is sticky: a key keeps its
    workers while they fit. Consistent grouping goes by the times of the workers, and keeps each
    on its machine. "auto" is a planned split until workers prove unequal in two batches running;
    then it tries both, and a planned split on more workers than slots, and keeps what takes least.

    When: partial results are costly, keys change slowly, and replicas matter; consistent grouping
        where machines differ in speed. Not where results must leave the state by a watermark:
        here all keys are kept.
    Cost: for a planned split one more small job a batch, which reads the keys of the last one; a
        merge of all keys every 20 batches.
    """

    rows: DataFrame
    key: tuple[str, ...]
    planner: BatchPlanner
    aggregates: dict[str, Aggregate]
    forms: dict[str, NativeAggregate]
    """Those that Spark has too: results have Spark's types."""
    store: str
    feeds: tuple[Feed, ...] = (log_feed,)
    _goes_on: bool = field(default=False, init=False)
    _pins: Pins | None = field(default=None, init=False)

    @property
    def writeStream(self) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """A writer to set trigger and checkpoint on, and to start."""
        return self.rows.writeStream.foreachBatch(self.process)

    def process(self, batch: DataFrame, number: int) -> None:
        """Route one batch, keep its partial results, plan the next."""
        started = time.perf_counter()
        kept = KeptParts(batch.sparkSession, self.store, self.key, self._functions())
        if not self._goes_on:
            kept.check_goes_on(number)
        observation = Observation()
        with self._staying(batch):
            workers = self.planner.workers
            parts = self._partials().of(self._placed(batch), self.key, workers, observation)
            kept.write(parts, number)
        planning = time.perf_counter()
        tasks = (read(observation, wait=10.0) or {}).get("tasks") or []
        self._goes_on = True
        if not tasks:
            return
        loads, known = figures_of(tasks, workers)
        outcome = Outcome(
            seconds_of(tasks, workers), np.array(loads, dtype=float), planning - started
        )
        self.planner.learn(outcome, lambda: kept.counts(number, workers))
        ended = time.perf_counter()
        record = BatchProgress.of(
            number,
            loads,
            ended - started,
            table_size=self.planner.table_size,
            rebalance_seconds=ended - planning,
            **known,
        )
        for feed in self.feeds:
            feed(record)

    def route(self) -> Route:
        """How the next batch is routed: as the last one asks for, or learning where none was."""
        return Route.of(self.planner.partitioner(), "online")

    def _placed(self, batch: DataFrame) -> DataFrame:
        route = self.route()
        if not self.planner.pinned:
            placed, worker = route.place(batch, KeyColumns.of(batch, self.key))
            return placed.drop(worker)
        if self._pins is None:
            self._pins = Pins.of(batch.sparkSession, self.planner.workers)
        name = helper_name("worker", batch)
        routed = route.with_worker(batch, KeyColumns.of(batch, self.key), name)
        return self._pins.place(routed, name)

    def _staying(self, batch: DataFrame) -> AbstractContextManager[None]:
        if not self.planner.pinned:
            return nullcontext()
        return pinned_shuffle_conf(batch.sparkSession, self.planner.workers)

    def result(self) -> DataFrame:
        """The aggregates of all rows so far, as an ordinary DataFrame."""
        functions = self._functions()
        kept = KeptParts(self.rows.sparkSession, self.store, self.key, functions)
        merged = kept.merged(functions.merge)
        results = [
            column(STATE)[str(place)].cast(self.forms[name].kind)
            if name in self.forms
            else column(STATE)[str(place)]
            for place, name in enumerate(self.aggregates)
        ]
        named = [each.alias(name) for each, name in zip(results, self.aggregates, strict=True)]
        return merged.select(*map(column, self.key), *named)

    def _functions(self) -> StateFunctions:
        return StateFunctions.of(self.rows, list(self.aggregates.values()))

    def _partials(self) -> Partials:
        states = States.of(self.rows, list(self.aggregates.values()))
        made = state_partials(states, self.key[0])

        def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
            counts = pa.array([group.num_rows for group in groups], pa.int64())
            return Folded([*made.fold(groups).columns, counts], None)

        return Partials(
            made.inputs, fold, StructType([*made.schema, StructField(ROWS, LongType())])
        )


def replanned_stream(
    rows: DataFrame,
    key: tuple[str, ...],
    request: StreamRequest,
    store: str,
    columns: Sequence[Aggregate],
    named: Mapping[str, Aggregate],
    feeds: Sequence[Feed],
) -> ReplannedStream:
    """Check everything before a query starts."""
    if is_remote():
        raise ParameterError(
            "replanned keeps its plan in the driver, and Spark Connect runs a batch's code "
            "elsewhere; use agg, whose routers learn on line, or a classic session"
        )
    if request.scheme not in _PLANNERS or request.history is not None:
        raise ParameterError(
            f"replanned makes its own plan, by {' or '.join(_PLANNERS)}; "
            "leave other schemes and history away"
        )
    wanted = checked(rows, [*((title(each), each) for each in columns), *named.items()])
    aggregates: dict[str, Aggregate] = {}
    for name, each in wanted:
        if isinstance(each, Column):
            raise ParameterError(
                "Spark's aggregates cannot be kept in parts; take unskew's (count, sum, mean, "
                "min, max), or agg"
            )
        aggregates[name] = each
    forms = {name: form for name, each in aggregates.items() if (form := native(rows, each))}
    planner = _PLANNERS[str(request.scheme)](request.workers)
    return ReplannedStream(rows, key, planner, aggregates, forms, store, (log_feed, *feeds))


_PLANNERS: dict[str, Callable[[int], BatchPlanner]] = {
    "auto": Choosing.of,
    PlannedSplit.scheme: SplitPlanner,
    ConsistentGrouping.scheme: VirtualWorkers.of,
}
