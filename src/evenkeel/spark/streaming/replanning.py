"""A routing plan that is made anew between micro-batches, and a merged result kept exactly once.

The plan of a streaming query is fixed when it starts. Inside `foreachBatch` every batch is planned
by itself, so that there each batch can follow a table made of the batch before it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import LongType, StructField, StructType
from pyspark.sql.utils import is_remote

from evenkeel.aggregates import Aggregate
from evenkeel.errors import ParameterError
from evenkeel.partitioners import PlannedSplit
from evenkeel.partitioners.serialization import build
from evenkeel.partitioners.split_planning import SplitTable
from evenkeel.partitioners.split_replanning import replan_for
from evenkeel.spark.aggregate_functions import StateFunctions, States
from evenkeel.spark.aggregation import checked, title
from evenkeel.spark.keys import column
from evenkeel.spark.native_aggregates import NativeAggregate, native
from evenkeel.spark.observed import read
from evenkeel.spark.planning import default_workers
from evenkeel.spark.routes import Route
from evenkeel.spark.streaming.feeds import Feed, log_feed
from evenkeel.spark.streaming.kept_parts import ROWS, KeptParts, KeyCounts
from evenkeel.spark.streaming.partials import Folded, Partials
from evenkeel.spark.streaming.progress import BatchProgress
from evenkeel.spark.streaming.state_merging import STATE, state_partials
from evenkeel.spark.streaming.stream_routes import LEARNING, StreamWish
from evenkeel.spark.streaming.watching import loads_of


@dataclass(slots=True)
class ReplannedStream:
    """A stream whose micro-batches are routed by what the batch before them held.

    `store` gets a Parquet folder `batch=N` for each batch, written anew if Spark repeats the
    batch; every 20th also holds what came before. A planned split is sticky: a key keeps its
    workers while they fit.

    When: partial results are costly, keys change slowly, and replicas matter. Not where results
        must leave the state by a watermark: here all keys are kept.
    Cost: one more small job a batch, which reads the keys of the last one; a merge of all keys
        every 20 batches.
    """

    rows: DataFrame
    key: tuple[str, ...]
    workers: int
    aggregates: dict[str, Aggregate]
    forms: dict[str, NativeAggregate]
    """Those that Spark has too: results have Spark's types."""
    store: str
    feeds: tuple[Feed, ...] = (log_feed,)
    table: SplitTable | None = field(default=None, init=False)
    """The plan of the next batch."""
    last_rows: int = field(default=0, init=False)

    @property
    def writeStream(self) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """A writer to set trigger and checkpoint on, and to start."""
        return self.rows.writeStream.foreachBatch(self.process)

    def process(self, batch: DataFrame, number: int) -> None:
        """Route one batch, keep its partial results, plan the next."""
        started = time.perf_counter()
        kept = KeptParts(batch.sparkSession, self.store, self.key, self._functions())
        if self.table is None:
            kept.check_goes_on(number)
        placed, worker = self.route().place(batch)
        observation = Observation()
        parts = self._partials().of(placed.drop(worker), self.key, self.workers, observation)
        kept.write(parts, number)
        planning = time.perf_counter()
        self._learn(kept.counts(number, self.workers))
        ended = time.perf_counter()
        self._tell(observation, number, ended - started, ended - planning)

    def route(self) -> Route:
        """How the next batch is routed: as the last one asks for, or learning where none was."""
        if self.table is None:
            return Route(self.key, build(LEARNING, self.workers))
        split = PlannedSplit(
            self.workers, *self.table, mode="online", interval=max(self.last_rows, 1000)
        )
        return Route(self.key, split, lowering="online")

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

    def _learn(self, counts: KeyCounts) -> None:
        if not counts.keys.size:
            return
        nothing = SplitTable(*PlannedSplit(self.workers).table)
        self.table = replan_for(self.table or nothing, *counts)
        self.last_rows = int(counts.hashed.sum())

    def _tell(self, seen: Observation, number: int, seconds: float, planning: float) -> None:
        figures = read(seen, wait=10.0)
        if not figures or not figures["tasks"]:
            return
        loads, replicas = loads_of(figures["tasks"], self.workers)
        size = 0 if self.table is None else self.table.keys.size
        record = BatchProgress.of(
            number,
            loads,
            seconds,
            replicas=replicas,
            table_size=size,
            rebalance_seconds=planning,
        )
        for feed in self.feeds:
            feed(record)


def replanned_stream(
    rows: DataFrame,
    key: tuple[str, ...],
    wish: StreamWish,
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
    if wish.scheme not in ("auto", PlannedSplit.scheme) or wish.history is not None:
        raise ParameterError("replanned makes its own plan; leave scheme and history away")
    wanted = checked(rows, [*((title(each), each) for each in columns), *named.items()])
    aggregates: dict[str, Aggregate] = {}
    for name, each in wanted:
        if isinstance(each, Column):
            raise ParameterError(
                "Spark's aggregates cannot be kept in parts; take evenkeel's (count, sum, mean, "
                "min, max), or agg"
            )
        aggregates[name] = each
    forms = {name: form for name, each in aggregates.items() if (form := native(rows, each))}
    workers = default_workers(rows) if wish.workers is None else wish.workers
    return ReplannedStream(rows, key, workers, aggregates, forms, store, (log_feed, *feeds))
