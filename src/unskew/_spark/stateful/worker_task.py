"""The task of a worker in one batch: its store is opened, its rows processed, its files written."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._spark.frames.arrow_keys import whole
from unskew._spark.frames.schemas import arrow_type
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.moves import Moves
from unskew._spark.stateful.reports import WorkerReport, Written
from unskew._spark.stateful.state_files import LEAST, MOST, StateFile, Storage, in_order
from unskew._spark.stateful.state_tables import table_of, tombstones
from unskew._spark.stateful.store import BrokenStoreError, Store, opened, remove
from unskew._spark.stateful.worker_step import WorkerRun, WorkerStep
from unskew._spark.stateful.worker_tables import row_bytes

ROUND = 64
"""Compactions after which a worker has written all its state anew, at the latest."""

LONGEST, FEW = 8, 1000
"""A slice has at most this part of the rows in a worker's files, unless they are few."""

_OUTPUT_ROWS = 10_000  # A batch of output.

logger = logging.getLogger("unskew")


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """What the workers are sent; called with the rows of one of them."""

    step: WorkerStep
    lineage: str
    storage: Storage
    files: tuple[tuple[StateFile, ...], ...]
    """The committed state of each worker."""
    moves: Moves | None
    merge_after: int
    attempt: str
    """Of the batch, on the driver."""
    reports: Any
    """An accumulator: what it gets comes from the one attempt of a task whose output counts."""
    partitions: tuple[int, ...] | None = None
    """The partition of each worker; its number if not given."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Process the rows of the worker whose partition this is."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        partition = context.partitionId()
        worker = partition if self.partitions is None else self.partitions.index(partition)
        output, report = self.run(worker, list(batches))
        yield from output
        self.reports.add([(self.attempt, report.to_bytes())])

    def run(
        self, worker: int, batches: list[pa.RecordBatch]
    ) -> tuple[list[pa.RecordBatch], WorkerReport]:
        """The output of a worker, and its report with the files that it wrote."""
        try:
            return self._run(worker, batches)
        except BrokenStoreError as error:
            logger.warning("worker %d is run again with a new store: %s", worker, error)
            remove(self.lineage, worker)
            return self._run(worker, batches)

    def _run(
        self, worker: int, batches: list[pa.RecordBatch]
    ) -> tuple[list[pa.RecordBatch], WorkerReport]:
        step, files = self.step, self.files[worker] if worker < len(self.files) else ()
        schema = pa.schema([("hash", pa.int64()), ("row", arrow_type(step.schema.rows))])
        rows = pa.Table.from_batches(batches, batches[0].schema if batches else schema)
        store, fetched = opened(
            self.lineage, worker, files, step.batch - 1, self.storage, step.schema
        )
        with store:
            run = WorkerRun(step, store)
            output = run.process(rows)
            began = time.perf_counter()
            if self.moves is not None:
                _take_up(run, worker, self.moves)
            handing = time.perf_counter() - began
            changes = Changes.of(run, worker, self.moves)
            written = changes.log(self.storage, step.batch, worker)
            began = time.perf_counter()
            written += changes.departures(self.storage, step.batch, worker)
            handing += time.perf_counter() - began
            if (step.batch + worker) % self.merge_after == 0:
                written += self._compacted(store, worker, in_order(files))
        report = WorkerReport.of(
            worker, run.touched, changes.sizes_of(run.touched.hashes),
            written=tuple(written), moved_keys=changes.moved_keys, moved_bytes=changes.moved_bytes,
            move_seconds=handing, fetched_rows=fetched.rows,
            fetched_bytes=fetched.size,
        )  # fmt: skip
        table = pa.Table.from_arrays(output.flatten(), schema=pa.schema(list(output.type)))
        return table.to_batches(max_chunksize=_OUTPUT_ROWS), report

    def _compacted(self, store: Store, worker: int, files: list[StateFile]) -> list[Written]:
        """The next slice of the worker's state: as much as its logs are long since the last one.

        So compaction costs what was touched of late and not what exists, and old logs are let go
        when the slices have gone once around all hashes. Where most of the state came in one batch,
        as to a worker that is new, its logs are as good as slices. Where it came in several, it is
        not written anew at once.
        """
        last = next((file for file in reversed(files) if file.is_slice), None)
        through = -1 if last is None else last.through
        came: Counter[int] = Counter()
        for file in files:
            came[file.through] += file.rows
        total = came.total()
        through = max([through, *(batch for batch, rows in came.items() if 2 * rows >= total)])
        recent = sum(file.rows for file in files if file.through > through)
        if not recent:
            return []
        start = LEAST if last is None or last.last is None or last.last == MOST else last.last + 1
        count = max(min(recent, max(total // LONGEST, FEW)), total // ROUND)
        found = store.range(start, count)
        end = MOST if len(found) < count else max(found)
        before = self.step.batch - 1
        if not found:
            return [Written(worker, StateFile.nothing(before, start, end))]
        table = table_of(found.items(), self.step.schema)
        file = self.storage.write(table, f"{worker}-slice", before, start, end)
        return [Written(worker, file)]


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """The new content of every hash that was touched or leaves, in ascending order."""

    table: pa.Table
    hashes: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """The bytes of each row's state."""
    targets: NDArray[np.int32]
    """The worker that each row belongs to from the next batch on."""
    stays: NDArray[np.bool_]
    leaves: NDArray[np.bool_]
    """The rows with state whose worker is another one."""
    schema: StateSchema

    @classmethod
    def of(cls, run: WorkerRun, worker: int, moves: Moves | None) -> Changes:
        """Collect what a worker holds after a batch."""
        table = table_of(sorted(run.held.items()), run.step.schema)
        hashes = table["hash"].to_numpy()
        targets = np.full(hashes.size, worker, dtype=np.int32)
        if moves is not None:
            targets = moves.targets_of(hashes, worker)
        stays = targets == worker
        leaves = table["state"].is_valid().to_numpy() & ~stays
        sizes = row_bytes(whole(table["state"]))
        return cls(table, hashes, sizes, targets, stays, leaves, run.step.schema)

    def log(self, storage: Storage, batch: int, worker: int) -> list[Written]:
        """Write what stays and what is gone, if anything."""
        if not self.hashes.size:
            return []
        gone = tombstones(np.unique(self.hashes[~self.stays]).tolist(), self.schema)
        stays = self.table.filter(pa.array(self.stays))
        return [Written(worker, storage.write(pa.concat_tables([stays, gone]), str(worker), batch))]

    def departures(self, storage: Storage, batch: int, worker: int) -> list[Written]:
        """Write a log for each worker that keys move to."""
        written = []
        for target in np.unique(self.targets[self.leaves]).tolist():
            moved = self.table.filter(pa.array(self.leaves & (self.targets == target)))
            file = storage.write(moved, f"{worker}-to-{target}", batch)
            written.append(Written(target, file))
        return written

    @property
    def moved_keys(self) -> int:
        """Keys that were handed over."""
        return int(self.leaves.sum())

    @property
    def moved_bytes(self) -> int:
        """The bytes of their state."""
        return int(self.sizes[self.leaves].sum())

    def sizes_of(self, hashes: list[int]) -> NDArray[np.int64]:
        """The bytes of the state of each of these hashes."""
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.sizes)])
        wanted = np.array(hashes, dtype=np.int64)
        starts = np.searchsorted(self.hashes, wanted)
        stops = np.searchsorted(self.hashes, wanted, side="right")
        sizes: NDArray[np.int64] = ends[stops] - ends[starts]
        return sizes


def _take_up(run: WorkerRun, worker: int, moves: Moves) -> None:
    """Add the keys that leave to those that were touched."""
    leaving = moves.from_worker(worker)
    if moves.base is not None:
        here = run.store.hashes()
        leaving = here[moves.targets_of(here, worker) != worker]
    idle = [number for number in leaving.tolist() if number not in run.held]
    run.held |= run.store.get(idle)
