"""A costly count by key on the cluster: throughput, latency and memory of each scheme."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unskew.metrics import max_over_mean
from unskew.workloads import ZipfStream
from unskew_lab.cluster.machines import SLOTS, SOURCES, WORKERS, Running, running
from unskew_lab.cluster.placements import PLACEMENTS, Placement
from unskew_lab.papers.specification import Row
from unskew_lab.session import spark_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEP = 0.02
"""Seconds of work between two looks at the clock."""
SCHEMA = "key bigint, n bigint, task struct<begun double, done double, latency double, rows bigint>"


@dataclass(frozen=True, slots=True)
class ZipfInput:
    """Zipf keys: their name in tables, and what they are drawn from."""

    name: str
    exponent: float
    keys: int
    rows: int
    seed: int = 42


@dataclass(frozen=True, slots=True)
class Counting:
    """Count a stream by key, each row costing `delay` ms on a machine of speed 1.

    The stream is worked off in `batches` jobs of equal size, the papers' aggregation periods; the
    speeds of the machines may differ from batch to batch.
    """

    stream: ZipfInput
    scheme: str
    delay: float
    batches: int = 1
    speeds: tuple[tuple[float, ...], ...] = ((1.0,) * len(SLOTS),)

    def measure(self) -> Sequence[Row]:
        """One row."""
        up = running()
        paths = written(up, self.stream, self.batches)
        warm_up(up)
        # What a scheme compiles and loads when it is first taken is not what it costs a stream.
        [small] = written(up, ZipfInput("warm", 1.2, 1000, 4000), 1)
        counted(up.spark.read.parquet(small), self.scheme, 0.0)
        found = []
        for number, path in enumerate(paths):
            up.set_speeds(self.speeds[number * len(self.speeds) // self.batches])
            found.append(self._batch(up.spark, path))
        up.set_speeds((1.0,) * len(SLOTS))
        return [self._row(found)]

    def _batch(self, spark: SparkSession, path: str) -> BatchResult:
        size = sum(file.stat().st_size for file in Path(path).glob("*.parquet"))
        with spark_settings(spark, _settings(PLACEMENTS[self.scheme], size)):
            batch = counted(spark.read.parquet(path), self.scheme, self.delay / 1000)
        expected = self.stream.rows // self.batches
        assert batch.rows == expected, f"{batch.rows} of {expected} rows were counted"
        return batch

    def _row(self, batches: Sequence[BatchResult]) -> Row:
        tasks = [task for batch in batches for task in batch.tasks]
        rows = sum(task.rows for task in tasks)
        seconds = sum(batch.seconds for batch in batches)
        waits = sum(batch.waited() for batch in batches)
        busy = np.array([task.done - task.begun for task in batches[-1].tasks])
        return {
            "stream": self.stream.name,
            "scheme": self.scheme,
            "delay": self.delay,
            "batches": self.batches,
            "seconds": seconds,
            "throughput": rows / seconds,
            "worked": rows / sum(batch.span() for batch in batches),
            "latency_mean": waits / rows,
            "latency_max": max(batch.seconds for batch in batches),
            "replicas": sum(batch.partials for batch in batches) / len(batches),
            "tasks": len(batches[-1].tasks),
            "max_over_mean": max_over_mean(busy),
        }


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The seconds of a job and the reports of its tasks."""

    seconds: float
    began: float
    rows: int
    partials: int
    tasks: Sequence[Any]

    def span(self) -> float:
        """Seconds from the start of the first task to the end of the last: without planning."""
        begun = min(float(task.begun) for task in self.tasks)
        return max(float(task.done) for task in self.tasks) - begun

    def waited(self) -> float:
        """The sum over all rows of the seconds from the start of the job until the row is done."""
        return sum(float(task.latency - self.began * task.rows) for task in self.tasks)


def counted(rows: DataFrame, scheme: str, cost: float) -> BatchResult:
    """Count `rows` by key and merge the partial counts."""
    began = time.time()
    parts = PLACEMENTS[scheme].place(rows).mapInArrow(counter(cost), SCHEMA)
    [(count, partials, tasks)] = _merged(parts, PLACEMENTS[scheme].splits).collect()
    return BatchResult(time.time() - began, began, count, partials, tasks)


def counter(cost: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Count the rows of a task by key, at `cost` seconds a row; a last row reports the times.

    It travels by value, for this module would bring a compiler into every Python worker.
    """
    step = max(1, round(STEP / cost)) if cost else 1 << 30
    times = [(name, pa.float64()) for name in ("begun", "done", "latency")]
    kind = pa.struct([*times, ("rows", pa.int64())])

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from unskew.testing import emulated_work

        begun, latency, keys = time.time(), 0.0, []
        for batch in batches:
            keys.append(batch.column("key"))
            for start in range(0, batch.num_rows, step):
                some = min(step, batch.num_rows - start)
                emulated_work(some * cost)
                latency += some * time.time()
        found = pc.value_counts(pa.chunked_array(keys, pa.int64()))
        rows = sum(map(len, keys))
        report = {"begun": begun, "done": time.time(), "latency": latency, "rows": rows}
        columns = [found.field("values"), found.field("counts"), pa.nulls(len(found), kind)]
        last = [pa.nulls(1, pa.int64()), pa.array([0], pa.int64()), pa.array([report], kind)]
        both = [pa.concat_arrays(pair) for pair in zip(columns, last, strict=True)]
        yield pa.RecordBatch.from_arrays(both, ["key", "n", "task"])

    return count


def _merged(parts: DataFrame, splits: bool) -> DataFrame:
    """Rows counted, partial results, tasks; where keys are split their parts meet first."""
    from pyspark.sql import functions as F

    sums = [F.sum("n").alias("n"), F.count("key").alias("partials")]
    tasks = F.collect_list("task")
    if not splits:
        return parts.agg(*sums, tasks)
    merged = parts.groupBy("key").agg(*sums, tasks.alias("tasks"))
    return merged.agg(F.sum("n"), F.sum("partials"), F.flatten(F.collect_list("tasks")))


def written(up: Running, stream: ZipfInput, batches: int) -> list[str]:
    """The stream as Parquet, a folder for each batch with a file for each source."""
    folder = up.folder / "streams" / f"{stream.name}-{stream.rows}-{stream.seed}-{batches}"
    paths = [folder / str(number) for number in range(batches)]
    if not folder.exists():
        drawn = ZipfStream(stream.exponent, stream.keys, stream.rows, stream.seed)
        ids = np.concatenate(list(drawn.ids()))
        size = stream.rows // batches
        for number, path in enumerate(paths):
            path.mkdir(parents=True)
            keys = ids[number * size : (number + 1) * size]
            for source, part in enumerate(np.array_split(keys, SOURCES)):
                table = {"key": part, "id": np.arange(part.size) * SOURCES + source}
                pq.write_table(pa.table(table), path / f"{source}.parquet")
    return [str(path) for path in paths]


def warm_up(up: Running) -> None:
    """Start a Python worker in every slot, once per cluster."""
    mark = up.folder / "warm"
    if mark.exists():
        return
    tasks = up.spark.range(0, WORKERS, 1, WORKERS).selectExpr("id key")
    tasks.mapInArrow(counter(0.3), SCHEMA).collect()
    mark.touch()


def _settings(placement: Placement, size: int) -> dict[str, str]:
    """The settings of a placement; where Spark adapts, also a share of the bytes for each slot."""
    if not placement.settings:
        return {}
    advised = str(max(1024, size // WORKERS))
    return placement.settings | {"spark.sql.adaptive.advisoryPartitionSizeInBytes": advised}
