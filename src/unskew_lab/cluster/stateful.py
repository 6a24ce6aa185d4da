"""Keyed state on a stream whose key frequencies change: batch times by hashing and rebalancing."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew.partitioners import ConsistentRing, PartialKey
from unskew.workloads.fluctuation import FluctuatingKeys
from unskew_lab.cluster.inputs import warm_up
from unskew_lab.cluster.machines import Running, running
from unskew_lab.papers.specification import Row
from unskew_lab.stream_files import write_stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from unskew.streaming import BatchProgress, StatefulStream

PATIENCE = 600.0


UNPLANNED = 2
"""The first batches of a stream: a plan made of the first is in force in the third."""


@dataclass(frozen=True, slots=True)
class Fluctuating:
    """Keys that change their frequencies by `rate` every `every` batches."""

    rate: float
    batches: int
    rows: int
    """Of a batch; the unplanned ones, which do not count, have half as many."""
    every: int = 3
    exponent: float = 0.85
    keys: int = 3000
    workers: int = 15
    seed: int = 42

    def rows_of(self, batch: int) -> int:
        """How many rows a batch has."""
        return self.rows // 2 if batch < UNPLANNED else self.rows

    def late(self, batch: int) -> bool:
        """Whether the plan of a batch was made of other frequencies than the batch's own."""
        return batch // self.every != (batch - UNPLANNED) // self.every


@dataclass(frozen=True, slots=True)
class Stateful:
    """Count per key with state, each row costing `cost` ms, under a rebalancer or by hash alone."""

    stream: Fluctuating
    rebalancer: str
    theta: float = 0.08
    cost: float = 1.0
    workers: int = 15
    scaled: int = 0
    """Workers from the middle of the run on, if another number."""

    def measure(self) -> Sequence[Row]:
        """One row per batch."""
        up = running()
        source = written(up, self.stream)
        warm_up(up)
        name = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        records = self._run(up, source, str(up.folder / "checkpoints" / name))
        return [self._row(record) for record in records]

    def _run(self, up: Running, source: Path, checkpoint: str) -> list[BatchProgress]:
        from unskew.streaming import stateful

        stream = stateful(
            _read(up, source), "key", counting(self.cost / 1000),
            schema="key bigint, n bigint", state_schema="n bigint", checkpoint=checkpoint,
            workers=self.workers, theta=self.theta,
            rebalancer=None if self.rebalancer == "hashing" else self.rebalancer,
        )  # fmt: skip
        return followed(stream, self.stream.batches, self.scaled)

    def _row(self, record: BatchProgress) -> Row:
        stream = self.stream
        asked: Row = {"scheme": self.rebalancer, "theta": self.theta, "rate": stream.rate}
        changes: Row = {"every": stream.every, "late": stream.late(record.batch)}
        return {**asked, **changes, **measured(record)}


@dataclass(frozen=True, slots=True)
class Merged:
    """The same count by partial key grouping, its partial results merged in Spark's state."""

    stream: Fluctuating
    cost: float = 1.0
    workers: int = 15

    def measure(self) -> Sequence[Row]:
        """One row per batch."""
        return _rows("pkg", self.stream, self.workers, self._counted, "update")

    def _counted(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        from unskew.streaming import groupBy

        grouped = groupBy(rows, "key", scheme=PartialKey(self.workers, distinct=False))
        return grouped.applyInArrow(
            partial_count(self.cost / 1000), "n bigint", merge=[F.sum("n").alias("n")]
        )


@dataclass(frozen=True, slots=True)
class Ideal:
    """The same work dealt out regardless of keys: no state, and nothing to merge."""

    stream: Fluctuating
    cost: float = 1.0
    workers: int = 15

    def measure(self) -> Sequence[Row]:
        """One row per batch."""
        return _rows("ideal", self.stream, self.workers, self._done, "append")

    def _done(self, rows: DataFrame) -> DataFrame:
        dealt = rows.repartition(self.workers)
        return dealt.mapInArrow(_worked_off(self.cost / 1000), "n bigint")


def _rows(
    scheme: str,
    stream: Fluctuating,
    workers: int,
    made: Callable[[DataFrame], DataFrame],
    mode: str,
) -> list[Row]:
    """The figures of each batch of a stream that Spark runs: it reports no loads."""
    up = running()
    source = written(up, stream)
    warm_up(up)
    with tempfile.TemporaryDirectory(dir=up.folder) as checkpoint:
        batches = _batch_times(made(_read(up, source)), checkpoint, mode)
    asked: Row = {"scheme": scheme, "rate": stream.rate, "workers": workers}
    return [
        {**asked, "batch": number, "rows": rows, "seconds": seconds}
        for number, (rows, seconds) in enumerate(batches)
    ]


def _read(up: Running, source: Path) -> DataFrame:
    reader = up.spark.readStream.schema("key bigint").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(source))


def _worked_off(cost: float) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from unskew.testing import emulated_work

        for batch in batches:
            emulated_work(cost * batch.num_rows)
            yield pa.record_batch([pa.array([batch.num_rows], pa.int64())], ["n"])

    return work


def _batch_times(rows: DataFrame, checkpoint: str, mode: str) -> list[tuple[int, float]]:
    """Rows and seconds of each batch of a stream that is run to its end."""
    writer = rows.writeStream.outputMode(mode).format("noop")
    writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query = writer.start()
    query.awaitTermination()
    done = [each for each in query.recentProgress if each["numInputRows"]]
    return [(each["numInputRows"], each["batchDuration"] / 1000) for each in done]


def followed(stream: StatefulStream, batches: int, scaled: int = 0) -> list[BatchProgress]:
    """Run the first `batches`; `scaled` is the number of workers from the middle on."""
    query = stream.start(_discard)
    end = time.monotonic() + PATIENCE
    try:
        while query.isActive and len(stream.progress) < batches:
            if scaled and len(stream.progress) >= batches // 2:
                stream.scale(scaled)
            if time.monotonic() > end:
                raise TimeoutError(f"{len(stream.progress)} of {batches} batches in {PATIENCE} s")
            time.sleep(0.05)
        if query.exception() is not None:
            raise RuntimeError(str(query.exception()))
    finally:
        query.stop()
    return list(stream.progress)[:batches]


def measured(record: BatchProgress) -> Row:
    """The figures of a batch."""
    loads = np.asarray(record.loads)
    return {
        "batch": record.batch,
        "workers": loads.size,
        "rows": record.rows,
        "seconds": record.seconds,
        "longest": float(loads.max()),
        "mean": float(loads.mean()),
        "max_over_mean": record.max_over_mean,
        "migrated_keys": record.migrated_keys or 0,
        "planning": record.rebalance_seconds or 0.0,
    }


def counting(cost: float) -> Callable[[Any, pa.Table, Any], Any]:
    """Count the rows of a key, at `cost` seconds each."""

    def count(key: Any, rows: pa.Table, state: Any) -> Any:
        from unskew.testing import emulated_work

        emulated_work(cost * rows.num_rows)
        n = rows.num_rows + (state["n"] if state else 0)
        return [{"key": key, "n": n}], {"n": n}

    return count


def partial_count(cost: float) -> Callable[[pa.Table], pa.Table]:
    """How many rows a key has in a part, at `cost` seconds each."""

    def count(rows: pa.Table) -> pa.Table:
        from unskew.testing import emulated_work

        emulated_work(cost * rows.num_rows)
        return pa.table({"n": pa.array([rows.num_rows], pa.int64())})

    return count


def written(up: Running, stream: Fluctuating) -> Path:
    """One Parquet file a batch."""
    name = hashlib.sha256(repr(stream).encode()).hexdigest()[:12]
    folder = up.folder / "fluctuating" / name
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    keys = FluctuatingKeys.zipf(stream.exponent, stream.keys, stream.seed)
    owner = ConsistentRing(stream.workers).router().route(keys.hashes)
    for batch in range(stream.batches):
        if batch and batch % stream.every == 0:
            keys = keys.shifted(owner, stream.rate)
        draw = np.random.default_rng((stream.seed, batch))
        rows = stream.rows_of(batch)
        ids = draw.choice(stream.keys, rows, p=keys.shares / keys.shares.sum())
        write_stream_file(pa.table({"key": pa.array(ids, pa.int64())}), folder, batch)
    return folder


def _discard(output: DataFrame, batch: int) -> None:
    output.write.format("noop").mode("overwrite").save()
