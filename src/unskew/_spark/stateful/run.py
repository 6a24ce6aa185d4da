"""A running stateful query: what happens to each micro-batch, in an order that survives a crash."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.frames.fault_points import fault_point
from unskew._spark.frames.files import Files, query_id
from unskew._spark.monitoring.feeds import Feed, log_feed
from unskew._spark.monitoring.hot_keys import most_loaded
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.routing.slots import pinned_shuffle_conf
from unskew._spark.stateful.batch_job import Processed, compact, process
from unskew._spark.stateful.commits import Commit, CommitLog
from unskew._spark.stateful.config import StatefulConfig
from unskew._spark.stateful.files import batch_time
from unskew._spark.stateful.layers import Layer, PlacedState, free
from unskew._spark.stateful.reports import SlotReport
from unskew._spark.stateful.slot_step import SlotStep
from unskew.errors import StateError
from unskew.partitioners import RoutingTable

Sink = Callable[[DataFrame, int], object]
"""What takes the output of each micro-batch with the number of the batch."""

POINTS = ("begun", "logged", "delivered", "compacted", "committed", "cleaned")
"""Where a batch may fail in a test, in the order in which it passes them."""

ATTEMPTS = 4
"""Attempts of a batch when executors are lost with state."""

PRICE = 0.5
"""The cost of a move, as a share of a batch's time apart from its rows: measured, with few keys."""

RECORDS = 1000
"""Progress records kept in memory."""

logger = logging.getLogger("unskew")


class StateRun:
    """Called by Spark with each micro-batch.

    Order of writes: the new versions, the output, a compaction if one is due, the commit, and only
    then the removal of what no commit needs. After a crash before the commit Spark repeats the
    batch, it is processed again, and the next clean-up removes the files of the first attempt.
    After the commit a repeated batch is skipped. What is in memory is never trusted after an error.
    """

    def __init__(
        self,
        config: StatefulConfig,
        files: Files,
        spark_files: Files,
        sink: Sink,
        feeds: Sequence[Feed] = (log_feed,),
    ) -> None:
        self.config = config
        self.workers = config.workers
        self.files = files
        self.spark_files = spark_files
        self.sink = sink
        self.feeds = feeds
        self.log = CommitLog(files)
        self.commit: Commit | None = None
        self.controller = config.controller()
        self.state: PlacedState | None = None
        self.table = RoutingTable(self.workers)
        self.progress: deque[BatchProgress] = deque(maxlen=RECORDS)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Run one micro-batch; retried if executors were lost with state that only they held."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._once(batch, number)
                return
            except Exception as error:
                self.invalidate()
                if attempt == ATTEMPTS or not _lost_blocks(error):
                    raise
                logger.warning(
                    "batch %d: an executor was lost with state; reading the last commit", number
                )

    def invalidate(self) -> None:
        """Drop what is in memory; the next batch reads the last commit."""
        if self.state is not None:
            self.state.free()
        self.state = None

    def _once(self, batch: DataFrame, number: int) -> None:
        began = time.perf_counter()
        session = batch.sparkSession
        query = query_id(session)
        workers = self.workers
        if self.state is not None and self.state.slots.workers != workers:
            self.invalidate()
        with pinned_shuffle_conf(session, workers):
            before = self.state or self.restore(session, workers)
            self._check_query(query)
            if not self._is_next(number):
                logger.info("batch %d is already committed; skipped", number)
                return
            fault_point("begun", number)
            state, moved = before.under(self.table)
            done = process(batch, state, self._step(number), self.files)
        fault_point("logged", number)
        self.sink(done.output, number)
        fault_point("delivered", number)
        with pinned_shuffle_conf(session, workers):
            compacted, replaced = compact(done.state, self.files, number, self.config.merge_after)
            migrated = _amount(moved)
        fault_point("compacted", number)
        longest = max((each.totals.seconds for each in done.reports), default=0.0)
        fixed = time.perf_counter() - began - longest
        commit, planning = self._planned(number, query, compacted, done, PRICE * fixed)
        self.log.write(commit)
        self.commit, self.table, self.state = commit, commit.table, compacted
        fault_point("committed", number)
        self.log.clean(commit)
        fault_point("cleaned", number)
        for frame in (done.rows, *replaced):
            free(frame)
        self._report(number, done, migrated, planning, time.perf_counter() - began)

    def restore(self, session: SparkSession, workers: int) -> PlacedState:
        """Read the last commit, and place its state by its table."""
        self.commit = self.log.last()
        self.controller = self.config.controller()
        self.table = RoutingTable(workers)
        if self.commit is not None:
            self._check_schema(self.commit)
            self.controller.restore(self.commit.memory)
            self.table = self._rescaled(self.commit.table, workers)
        self.state = PlacedState.load(
            session, self.config.schema, self.files, self.commit, self.table
        )
        return self.state

    def _rescaled(self, table: RoutingTable, workers: int) -> RoutingTable:
        """A table for the current workers: planned, else with the entries that still fit."""
        if table.workers == workers:
            return table
        plan = self.controller.plan(table, workers)
        if plan is not None:
            return plan.table
        stays = table.owners < workers
        return RoutingTable(workers, table.keys[stays], table.owners[stays])

    def _step(self, number: int) -> SlotStep:
        config = self.config
        now = None
        if config.schema.event_time is not None:
            newest = None if self.commit is None else self.commit.newest_event
            now = None if newest is None else newest - config.delay
        elif config.timeout is not None:
            now = batch_time(self.spark_files, number)
        return SlotStep(config.processor, config.schema, config.form, number, now, config.timeout)

    def _planned(
        self, number: int, query: str, state: PlacedState, done: Processed, price: float
    ) -> tuple[Commit, float]:
        """The commit of a batch, with the table of the next one, and the time spent on planning.

        A move costs `price` seconds.
        """
        began = time.perf_counter()
        plan = None
        if self.controller.learn(done.reports):
            plan = self.controller.plan(state.table, state.table.workers, price)
        planning = time.perf_counter() - began
        old = self.commit
        events = [report.totals.newest for report in done.reports]
        if old is not None:
            events.append(old.newest_event)
        version = 0 if old is None else old.table_version
        return Commit(
            batch=number,
            query=query,
            key=self.config.schema.key_type.json(),
            state=self.config.schema.state.json(),
            table=state.table if plan is None else plan.table,
            table_version=version if plan is None else version + 1,
            layers=state.files,
            newest_event=max((event for event in events if event is not None), default=None),
            memory=self.controller.to_json(),
        ), planning

    def _report(
        self,
        number: int,
        done: Processed,
        migrated: tuple[int, int],
        planning: float,
        seconds: float,
    ) -> None:
        loads = [0.0] * done.state.slots.workers
        for report in done.reports:
            worker = done.state.slots.worker_of(report.totals.slot)
            loads[worker] = float(getattr(report.totals, self.config.cost))
        record = BatchProgress.of(
            number,
            loads,
            seconds,
            rows=sum(report.totals.rows for report in done.reports),
            cost=sum(loads),
            replicas=sum(report.totals.keys for report in done.reports),
            table_size=int(done.state.table.keys.size),
            migrated_keys=migrated[0],
            migrated_bytes=migrated[1],
            rebalance_seconds=planning,
            hottest=self._hot_keys(done.reports),
        )
        self.progress.append(record)
        for feed in self.feeds:
            feed(record)

    def _hot_keys(self, reports: Sequence[SlotReport]) -> tuple[tuple[str, float], ...]:
        by_rows = self.config.cost == "rows"
        named = (each for report in reports for each in report.totals.hot_keys)
        return most_loaded({key: float(rows if by_rows else spent) for key, rows, spent in named})

    def _check_schema(self, commit: Commit) -> None:
        schema = self.config.schema
        for what, found, wanted in (
            ("key", commit.key, schema.key_type.json()),
            ("state", commit.state, schema.state.json()),
        ):
            if found != wanted:
                raise StateError(
                    f"{self.files.folder} holds state whose {what} schema is {found}, but this "
                    f"query's is {wanted}; use the old schema, or start with a new checkpoint"
                )

    def _check_query(self, query: str) -> None:
        if self.commit is not None and self.commit.query != query:
            raise StateError(
                f"{self.files.folder} belongs to query {self.commit.query}, but this is {query}: "
                f"{self.spark_files.folder} was removed or replaced; restore it, or start with a "
                "new checkpoint"
            )

    def _is_next(self, number: int) -> bool:
        done = -1 if self.commit is None else self.commit.batch
        if number > done + 1:
            raise StateError(
                f"{self.files.folder} ends with batch {done}, but the query continues with batch "
                f"{number}; restore the missing commits, or start with a new checkpoint"
            )
        return number == done + 1


def _amount(moved: Layer | None) -> tuple[int, int]:
    """Keys and bytes that moved, without tombstones."""
    if moved is None:
        return 0, 0
    kept = moved.frame.where("state is not null")
    [(keys, size)] = kept.agg(F.count(F.lit(1)), F.sum("bytes")).collect()
    return int(keys), int(size or 0)


def _lost_blocks(error: Exception) -> bool:
    """Whether the error, or one of its causes, is a missing block of state."""
    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = [str(error)]
    while cause is not None:
        texts.append(str(cause.toString()))
        cause = cause.getCause()
    return any("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in text for text in texts)
