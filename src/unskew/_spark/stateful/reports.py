"""The report of one worker on one batch: what it wrote, and the cost and state size of its keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import AccumulatorParam

from unskew._spark.monitoring.hot_keys import most_loaded, top
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.stateful.state_files import StateFile
from unskew.display import printable

if TYPE_CHECKING:
    # Python workers import this module; planners and their kernels would take them seconds.
    from unskew._spark.stateful.intervals import Cost
    from unskew._spark.stateful.worker_step import Touched
    from unskew.partitioners import RoutingTable

MOST_KEYS = 4096
"""Keys that a worker lists at most, those with most seconds or rows; the others are summed."""


class Written(NamedTuple):
    """A file, and the worker whose state it belongs to."""

    worker: int
    file: StateFile


@dataclass(frozen=True, slots=True)
class WorkerTotals:
    """Totals of one worker in one batch."""

    worker: int
    rows: int
    keys: int
    """Keys with rows or a timer."""
    seconds: float
    """Time in the processor."""
    newest: int | None = None
    """The latest event time, in microseconds."""
    timers: int = 0
    late: int = 0
    """Rows older than the watermark, which were left out."""
    unlisted_seconds: float = 0.0
    unlisted_rows: int = 0
    hot_keys: tuple[tuple[str, int, float], ...] = ()
    """The keys with most rows or seconds, as text, with their rows and seconds."""
    written: tuple[Written, ...] = ()
    moved_keys: int = 0
    """Keys that were handed over to other workers."""
    moved_bytes: int = 0
    move_seconds: float = 0.0
    fetched_rows: int = 0
    """Rows that the executor's copy of the state lacked."""
    fetched_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class WorkerReport:
    """The totals, and a row for each key that is listed."""

    totals: WorkerTotals
    hashes: NDArray[np.int64]
    rows: NDArray[np.int64]
    seconds: NDArray[np.float64]
    memory: NDArray[np.int64]

    @classmethod
    def of(
        cls, worker: int, touched: Touched, memory: NDArray[np.int64], **totals: Any
    ) -> WorkerReport:
        """List the keys with most seconds or most rows, all of them if they are few."""
        hashes, rows = (np.array(each, dtype=np.int64) for each in (touched.hashes, touched.rows))
        seconds = np.array(touched.seconds, dtype=np.float64)
        listed = np.sort(np.argsort(-_weights(rows, seconds), kind="stable")[:MOST_KEYS])
        summed = WorkerTotals(
            worker,
            rows=int(rows.sum()),
            keys=int(hashes.size),
            seconds=float(seconds.sum()),
            newest=touched.newest,
            timers=touched.timers,
            late=touched.late,
            unlisted_seconds=max(0.0, float(seconds.sum() - seconds[listed].sum())),
            unlisted_rows=int(rows.sum() - rows[listed].sum()),
            hot_keys=_hot_keys(touched.keys, rows, seconds),
            **totals,
        )
        return cls(summed, hashes[listed], rows[listed], seconds[listed], memory[listed])

    def to_bytes(self) -> bytes:
        """One Arrow stream; the totals are in its schema."""
        columns = {
            "hash": self.hashes, "rows": self.rows, "seconds": self.seconds, "memory": self.memory
        }  # fmt: skip
        batch = pa.record_batch([pa.array(values) for values in columns.values()], list(columns))
        batch = batch.replace_schema_metadata({"totals": json.dumps(asdict(self.totals))})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, data: bytes) -> WorkerReport:
        """What `to_bytes` wrote."""
        (batch,) = pa.ipc.open_stream(data)
        said = json.loads(batch.schema.metadata[b"totals"])
        said["hot_keys"] = tuple((key, rows, seconds) for key, rows, seconds in said["hot_keys"])
        said["written"] = tuple(
            Written(worker, StateFile(**file)) for worker, file in said["written"]
        )
        return cls(WorkerTotals(**said), *(batch[name].to_numpy() for name in batch.schema.names))


class Collected(AccumulatorParam[list[Any]]):
    """Reports of tasks, as they end."""

    def zero(self, value: list[Any]) -> list[Any]:
        """No reports."""
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802
        """Both."""
        return [*value1, *value2]


def progress_of(
    number: int,
    reports: Sequence[WorkerReport],
    cost: Cost,
    table: RoutingTable,
    planning: float,
    seconds: float,
) -> BatchProgress:
    """The record of a batch, of the reports of all workers in order."""
    totals = [report.totals for report in reports]
    loads = [float(getattr(each, cost)) for each in totals]
    hot = (each for total in totals for each in total.hot_keys)
    return BatchProgress.of(
        number,
        loads,
        seconds,
        rows=sum(each.rows for each in totals),
        cost=sum(loads),
        replicas=sum(each.keys for each in totals),
        table_size=int(table.keys.size),
        migrated_keys=sum(each.moved_keys for each in totals),
        migrated_bytes=sum(each.moved_bytes for each in totals),
        fetched_rows=sum(each.fetched_rows for each in totals),
        fetched_bytes=sum(each.fetched_bytes for each in totals),
        timers=sum(each.timers for each in totals),
        late=sum(each.late for each in totals),
        rebalance_seconds=planning,
        hottest=most_loaded(
            {key: float(rows if cost == "rows" else spent) for key, rows, spent in hot}
        ),
    )


def _weights(rows: NDArray[np.int64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The larger of a key's shares: whether cost is in seconds or rows, the driver decides."""
    shares = (each / max(float(each.sum()), 1e-300) for each in (rows, seconds))
    weights: NDArray[np.float64] = np.maximum(*shares)
    return weights


def _hot_keys(
    keys: list[Any], rows: NDArray[np.int64], seconds: NDArray[np.float64]
) -> tuple[tuple[str, int, float], ...]:
    places = sorted({*top(rows), *top(seconds)})
    return tuple((_text(keys[at]), int(rows[at]), float(seconds[at])) for at in places)


def _text(key: Any) -> str:
    """A key as text. Long keys are cut; two that look the same count as one."""
    parts = key if isinstance(key, tuple) else (key,)
    return printable(", ".join(printable(part) for part in parts))
