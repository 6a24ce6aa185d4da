"""Replanned streams: a new routing plan for each micro-batch, and a result kept exactly once.

The plan of a streaming query is fixed when it starts. Inside `foreachBatch` every batch is planned
by itself, so that there each batch can follow a table made of the batch before it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import LongType, StructField, StructType
from pyspark.sql.utils import is_remote

from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.frames.files import query_id
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns
from unskew._spark.monitoring.feeds import Feed, log_feed
from unskew._spark.monitoring.listener import figures_of, seconds_of
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.side_jobs import observed
from unskew._spark.planning.stream_request import StreamRequest
from unskew._spark.routing.route import Route
from unskew._spark.routing.slots import Pins, pinned_shuffle_conf
from unskew._spark.streaming.partials import Folded, Partials
from unskew._spark.streaming.replan.partial_store import PartialStore
from unskew._spark.streaming.replan.planners import (
    TOLERATED,
    BatchOutcome,
    BatchPlanner,
    FixedRoute,
    SplitPlanner,
    VirtualWorkers,
)
from unskew._spark.streaming.replan.store_commits import StoreCommit
from unskew._spark.streaming.replan.trial import BestOfTrials
from unskew._spark.streaming.state_store_merge import state_partials
from unskew.aggregates import Aggregate
from unskew.checking import check_number
from unskew.errors import ParameterError
from unskew.partitioners import ConsistentGrouping, PlannedSplit

logger = logging.getLogger("unskew")


@dataclass(slots=True)
class ReplannedStream:
    """A stream whose micro-batches are routed by the keys, or the times, of the batch before.

    `store` gets a Parquet folder for each batch, and a commit that names its files with their
    checksums; a batch that Spark repeats is skipped, and every 20th folder replaces those before
    it. A store belongs to one query, one key and its aggregates; a damaged one raises `StateError`.
    A planned split is sticky: a key keeps its workers while they fit. Consistent grouping goes by
    the times of the workers, keeps each on its machine, and goes on from the map of virtual
    workers that the store has after a restart. "auto" is a planned split until workers
    prove unequal in two batches running; then it tries both, and a planned split on more workers
    than slots, and keeps what takes least. Any other scheme stays as it is, each worker on its own
    machine.

    When: partial results are costly, keys change slowly, and replicas matter; consistent grouping
        where machines differ in speed. Not where results must leave the state by a watermark:
        here all keys are kept.
    Cost: for a planned split one more small job a batch, which reads the keys of the last one; a
        merge of all keys every 20 batches.
    """

    plan: AggregationPlan
    planner: BatchPlanner
    store: str
    feeds: tuple[Feed, ...] = (log_feed,)
    _pins: Pins | None = field(default=None, init=False)
    _begun: bool = field(default=False, init=False)

    @property
    def writeStream(self) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """A writer to set trigger and checkpoint on, and to start; raises if `store` is damaged."""
        PartialStore.at(self.plan.rows.sparkSession, self.store, self.plan).check()
        return self.plan.rows.writeStream.foreachBatch(self.process)

    def process(self, batch: DataFrame, number: int) -> None:
        """Route one batch, store its partial results, plan the next batch."""
        started = time.perf_counter()
        query = query_id(batch.sparkSession)
        kept = PartialStore.at(batch.sparkSession, self.store, self.plan)
        before = kept.begin(query, number)
        if before is not None and before.batch == number:
            logger.info("batch %d is already in the store; skipped", number)
            return
        owners = self._owners(before)
        observation = Observation()
        with self._staying(batch):
            workers = self.planner.workers
            rows = helper_name("rows", self.plan.key)
            partials = self._partials(rows)
            parts = partials.of(self._placed(batch), self.plan.key, workers, observation)
            commit = kept.write(before, parts, rows, query, number, owners)
        planning = time.perf_counter()
        tasks = (observed(observation, wait=10.0) or {}).get("tasks") or []
        if not tasks:
            return
        loads, known = figures_of(tasks, workers)
        outcome = BatchOutcome(
            seconds_of(tasks, workers), np.array(loads, dtype=float), planning - started
        )
        self.planner.learn(outcome, lambda: kept.counts(commit, workers))
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
        """The route of the next batch."""
        if isinstance(self.planner, FixedRoute):
            return self.planner.route
        return Route.of(self.planner.partitioner(), "online")

    def _owners(self, before: StoreCommit | None) -> tuple[int, ...]:
        """The map of virtual workers, in the first batch after a restart that of the last run."""
        if not isinstance(self.planner, VirtualWorkers):
            return ()
        if before is not None and not self._begun:
            self.planner.go_on(before.owners)
        self._begun = True
        return tuple(self.planner.memory.owners.tolist())

    def _placed(self, batch: DataFrame) -> DataFrame:
        route, key = self.route(), KeyColumns.of(batch, self.plan.key)
        if not self.planner.pinned:
            placed, worker = route.place(batch, key)
            return placed.drop(worker)
        if self._pins is None:
            self._pins = Pins.of(batch.sparkSession, self.planner.workers)
        name = helper_name("worker", batch)
        return self._pins.place(route.with_worker(batch, key, name), name)

    def _staying(self, batch: DataFrame) -> AbstractContextManager[None]:
        if not self.planner.pinned:
            return nullcontext()
        return pinned_shuffle_conf(batch.sparkSession, self.planner.workers)

    def result(self) -> DataFrame:
        """The aggregates of all rows so far, as an ordinary DataFrame."""
        kept = PartialStore.at(self.plan.rows.sparkSession, self.store, self.plan)
        return kept.merged().select(*self.plan.keys, *self.plan.results())

    def _partials(self, rows: str) -> Partials:
        """The states, and in the column `rows` how many rows each holds."""
        made = state_partials(self.plan.states(), self.plan.state, spare=self.plan.key[0])

        def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
            counts = pa.array([group.num_rows for group in groups], pa.int64())
            return Folded([*made.fold(groups).columns, counts], None)

        schema = StructType([*made.schema, StructField(rows, LongType())])
        return Partials(made.inputs, fold, schema)


def replanned_stream(
    rows: DataFrame,
    key: tuple[str, ...],
    request: StreamRequest,
    store: str,
    columns: Sequence[Aggregate],
    named: Mapping[str, Aggregate],
    feeds: Sequence[Feed],
    tolerance: float | None = None,
) -> ReplannedStream:
    """Check all arguments before a query starts."""
    if is_remote():
        raise ParameterError(
            "replanned keeps its plan in the driver, and Spark Connect runs the code of a batch "
            "elsewhere; use agg, whose routers learn online, or a classic session"
        )
    planner = _planner(request, tolerance)
    plan = AggregationPlan.of(rows, key, columns, named)
    if plan.has_columns:
        raise ParameterError(
            "Spark's aggregates have no partial results to store; use unskew's (count, sum, mean, "
            "min, max), or agg"
        )
    plan.states()  # raises for types that an aggregate in Python cannot take
    return ReplannedStream(plan, planner, store, (log_feed, *feeds))


def _planner(request: StreamRequest, tolerance: float | None) -> BatchPlanner:
    scheme = request.scheme
    if isinstance(scheme, ConsistentGrouping):
        tolerated = TOLERATED if tolerance is None else tolerance
        check_number("tolerance", tolerated)
        if tolerated < 0:
            raise ParameterError(f"tolerance={tolerance} is below 0; 0.05 allows 5 % over the mean")
        if isinstance(request.request.given["scheme"], str):
            return VirtualWorkers.of(request.workers, tolerated, **request.settings)
        return VirtualWorkers.going_on(scheme, tolerated)
    if tolerance is not None:
        raise ParameterError(
            f"tolerance={tolerance} says when a worker counts as busy, which only "
            f'{ConsistentGrouping.scheme} asks; remove it, or give scheme="cg"'
        )
    if request.history is not None or isinstance(scheme, Plan):
        raise ParameterError(
            "replanned takes no plan of earlier rows: it makes its own between batches, or keeps "
            "to a scheme; remove history= or the plan"
        )
    if not isinstance(scheme, str):
        return FixedRoute(request.decide().route)
    if scheme not in _PLANNERS:
        raise ParameterError(
            f"replanned cannot count keys in advance, as {scheme} asks; its own plans are "
            f"{', '.join(_PLANNERS)} and {ConsistentGrouping.scheme}"
        )
    return _PLANNERS[scheme](request.workers)


_PLANNERS: dict[str, Callable[[int], BatchPlanner]] = {
    "auto": BestOfTrials.of,
    PlannedSplit.scheme: SplitPlanner,
}
