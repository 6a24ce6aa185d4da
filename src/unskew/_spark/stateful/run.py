"""A running stateful query: what happens to each micro-batch, in an order that survives a crash."""

from __future__ import annotations

import hashlib
import logging
import re
import time
import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from unskew._spark.frames.fault_points import fault_point
from unskew._spark.frames.files import Files, query_id
from unskew._spark.monitoring.feeds import Feed, log_feed
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.routing.slots import Pins, pinned_shuffle_conf
from unskew._spark.stateful.batch_job import (
    Sink,
    hand_over,
    output_of,
    worker_column,
    write,
)
from unskew._spark.stateful.commits import Commit, CommitLog
from unskew._spark.stateful.config import StatefulConfig
from unskew._spark.stateful.continuation import check_query, check_schema, is_next
from unskew._spark.stateful.moves import Moves
from unskew._spark.stateful.reports import Collected, WorkerReport, progress_of
from unskew._spark.stateful.spark_checkpoint import batch_time
from unskew._spark.stateful.state_files import StateFile, Storage, needed
from unskew._spark.stateful.worker_step import WorkerStep
from unskew._spark.stateful.worker_task import WorkerTask
from unskew.errors import StateError
from unskew.partitioners import ConsistentRing, RoutingTable

POINTS = ("begun", "delivered", "committed", "cleaned")
"""Where a batch may fail in a test, in the order in which it passes them."""

ATTEMPTS = 4
"""Attempts of a batch when executors are lost with what they held for it."""

RECORDS = 1000
"""Progress records kept in memory."""

SWEEP = 500
"""Batches after which files that no commit names are looked for."""

logger = logging.getLogger("unskew")


class LostError(StateError):
    """What a batch's tasks returned was lost with an executor."""


class StateRun:
    """Called by Spark with each micro-batch.

    Order of writes: the tasks' files and the output, the commit, and only then the removal of what
    no commit needs. After a crash before the commit Spark repeats the batch, and it is processed
    again: no commit names the files of the first attempt. After the commit a repeated batch is
    skipped. What is in memory is never trusted after an error.
    """

    def __init__(
        self,
        config: StatefulConfig,
        files: Files,
        spark_files: Files,
        sink: Sink | str,
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
        self.is_restored = False
        self.lineage = ""
        self.controller = config.controller()
        self.table = self.target = self._empty_table()
        self.progress: deque[BatchProgress] = deque(maxlen=RECORDS)
        self._column: tuple[RoutingTable, Column] | None = None
        self._pins: Pins | None = None
        self._executors: tuple[str, ...] = ()
        self._reports: Any = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Run one micro-batch; again, if executors were lost with what only they held."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._once(batch, number)
                return
            except Exception as error:
                self.is_restored, self._pins = False, None
                if attempt == ATTEMPTS or not _is_lost(error):
                    told = _told_by_task(error)
                    if told is None:
                        raise
                    raise told from error
                logger.warning("batch %d is run again: an executor was lost", number)

    def restore(self) -> None:
        """Take up the last commit; nothing is removed."""
        before, self.commit = self.commit, self.log.last()
        self.controller = self.config.controller()
        self.table = self.target = self._empty_table()
        if self.commit is not None:
            check_schema(self.commit, self.config.schema, self.files.folder)
            self.controller.restore(self.commit.memory)
            self.table, self.target = self.commit.table, self.commit.planned
        if before is None or self.commit is None or before.to_bytes() != self.commit.to_bytes():
            # Executors may hold state of batches that are to be repeated.
            folder = hashlib.sha256(self.files.folder.encode()).hexdigest()[:16]
            self.lineage = f"{folder}/{uuid.uuid4().hex}"
        self.is_restored = True

    def _empty_table(self) -> RoutingTable:
        return RoutingTable(self.workers, base=ConsistentRing(self.workers))

    def _once(self, batch: DataFrame, number: int) -> None:
        began = time.perf_counter()
        session = batch.sparkSession
        query = query_id(session)
        if not self.is_restored:
            self.restore()
            if self.commit is not None:
                check_query(self.commit, query, self.files.folder, self.spark_files.folder)
            self.log.mend(self.commit)
        if not is_next(self.commit, number, self.files.folder):
            logger.info("batch %d is already committed; skipped", number)
            return
        fault_point("begun", number)
        if self.target.workers != self.workers:
            self.target = self._rescaled(self.target, self.workers)
        moves = Moves.between(self.table, self.target)
        reports = self._processed(batch, self._task(session, number, moves))
        fault_point("delivered", number)
        commit, planning = self._planned(number, query, reports)
        self.log.write(commit)
        table = self.table
        self.commit, self.table, self.target = commit, commit.table, commit.planned
        fault_point("committed", number)
        self.log.clean()
        if number % SWEEP == SWEEP - 1:
            self.log.sweep()
        fault_point("cleaned", number)
        seconds = time.perf_counter() - began
        record = progress_of(number, reports, self.config.cost, table, planning, seconds)
        self.progress.append(record)
        for feed in self.feeds:
            try:
                feed(record)
            except Exception:
                # The batch is committed: it is done whatever becomes of its record.
                logger.warning("batch %d: its record was not passed on", number, exc_info=True)

    def _rescaled(self, table: RoutingTable, workers: int) -> RoutingTable:
        """A table for the current workers: planned, else with the entries that still fit."""
        plan = self.controller.plan(table, workers)
        if plan is not None:
            return plan.table
        stays = table.owners < workers
        base = ConsistentRing(workers)
        return RoutingTable(workers, table.keys[stays], table.owners[stays], base)

    def _task(self, session: SparkSession, number: int, moves: Moves | None) -> WorkerTask:
        config = self.config
        now = None
        if config.schema.event_time is not None:
            newest = None if self.commit is None else self.commit.newest_event
            now = None if newest is None else newest - config.delay
        elif config.timeout is not None:
            now = batch_time(self.spark_files, number)
        if self._reports is None:
            self._reports = session.sparkContext.accumulator([], Collected())
        self._reports.value = []
        step = WorkerStep(config.processor, config.schema, config.form, number, now, config.timeout)
        files = () if self.commit is None else self.commit.files
        storage = Storage(self.files.folder)
        attempt = uuid.uuid4().hex
        return WorkerTask(
            step, self.lineage, storage, files, moves, config.merge_after, attempt, self._reports
        )

    def _processed(self, batch: DataFrame, task: WorkerTask) -> list[WorkerReport]:
        """Run the batch's job; returns the report of each worker."""
        session, workers, number = batch.sparkSession, self.table.workers, task.step.batch
        if self._column is None or self._column[0] is not self.table:
            self._column = (self.table, worker_column(self.table))
        with pinned_shuffle_conf(session, workers):
            pins = self._pinned(session, workers)
            if pins is not None:
                task = replace(task, partitions=pins.partitions)
            output = output_of(batch, self._column[1], workers, task, pins)
            if isinstance(self.sink, str):
                write(output, self.sink, number)
            else:
                output = output.localCheckpoint(eager=False)
        if not isinstance(self.sink, str):
            hand_over(output, self.sink, number, lambda: len(self._found(task)) == workers)
        found = self._found(task)
        missing = [worker for worker in range(workers) if worker not in found]
        if missing:
            raise LostError(f"batch {number} has no reports of the workers {missing}")
        return [found[worker] for worker in range(workers)]

    def _found(self, task: WorkerTask) -> dict[int, WorkerReport]:
        mine = (report for attempt, report in self._reports.value if attempt == task.attempt)
        reports = [WorkerReport.from_bytes(each) for each in mine]
        return {report.totals.worker: report for report in reports}

    def _pinned(self, session: SparkSession, workers: int) -> Pins | None:
        """What keeps a worker on the executor that has its state, where there are several."""
        if str(session.sparkContext.master).partition("[")[0] == "local":
            return None
        if self._pins is None or self._pins.slots.workers != workers:
            self._pins = Pins.of(session, workers, self._executors)
            self._executors = self._pins.executors
        return self._pins

    def _planned(
        self, number: int, query: str, reports: Sequence[WorkerReport]
    ) -> tuple[Commit, float]:
        """The commit of a batch, with the tables of the next ones, and the time of planning."""
        began = time.perf_counter()
        plan = None
        if self.controller.learn(reports):
            plan = self.controller.plan(self.target, self.target.workers)
        planning = time.perf_counter() - began
        old = self.commit
        events = [report.totals.newest for report in reports]
        if old is not None:
            events.append(old.newest_event)
        version = 0 if old is None else old.table_version
        return Commit(
            batch=number,
            query=query,
            key=self.config.schema.key_type.json(),
            state=self.config.schema.state.json(),
            table=self.target,
            planned=self.target if plan is None else plan.table,
            table_version=version if plan is None else version + 1,
            files=self._files(number, reports),
            newest_event=max((event for event in events if event is not None), default=None),
            memory=self.controller.to_json(),
        ), planning

    def _files(
        self, number: int, reports: Sequence[WorkerReport]
    ) -> tuple[tuple[StateFile, ...], ...]:
        """The files of each worker of the next batch."""
        workers = self.target.workers
        old = () if self.commit is None else self.commit.files
        files = [list(each) for each in old[:workers]]
        # A worker that comes starts with nothing, also where an executor remembers one of before.
        files += [[StateFile.nothing(number - 1)] for _ in range(workers - len(files))]
        for report in reports:
            for worker, file in report.totals.written:
                if worker < workers:
                    files[worker].append(file)
        return tuple(needed(each) for each in files)


def _told_by_task(error: Exception) -> StateError | None:
    """What a task said of the state: Spark passes on no more than its text."""
    kinds = "StateError|DamagedFileError|BrokenStoreError"
    found = re.search(rf"unskew\.\S*\.(?:{kinds}): (.*)", str(error))
    return None if found is None else StateError(found[1])


def _is_lost(error: Exception) -> bool:
    """Whether the error, or one of its causes, is a block that went with its executor."""
    if isinstance(error, LostError):
        return True
    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = [str(error)]
    while cause is not None:
        texts.append(str(cause.toString()))
        cause = cause.getCause()
    return any("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND" in text for text in texts)
