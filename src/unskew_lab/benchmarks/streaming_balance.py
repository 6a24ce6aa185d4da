"""Keyed state whose hot keys change, with much work: planners beside hashing and an ideal.

Each row costs a millisecond of sleep, so that fifteen slots work side by side on any machine. The
ideal is measured by itself: the same rows with other keys, of which every worker has as many.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.partitioners import ConsistentRing
from unskew.workloads.fluctuation import FluctuatingKeys
from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.benchmarks.streaming_stateful import count_rows
from unskew_lab.session import new_session
from unskew_lab.stream_files import write_stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORKERS, ROWS, KEYS, COST = 15, 75_000, 3000, 0.001
EXPONENT, RATE, THETA = 0.85, 1.0, 0.02
BATCHES, CHANGE, LEARNING = 10, 5, 2
"""Batches in all, until keys change, and before the first plan is in force."""
GAIN, NEAR = 1 / 1.7, 1.1


def run() -> Iterator[Measurement]:
    """Seconds of a batch by each way, on one stream."""
    session = new_session(WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder))
        took = {
            way: _seconds(session, folder, "ideal" if way == "ideal" else "rows", way)
            for way in ("ideal", "hashing", "mixed", "level")
        }
    name = f"{ROWS * COST / WORKERS:g} s of work a batch"
    mean = {way: float(np.mean(seconds)) for way, seconds in took.items()}
    usual = {way: float(np.median(seconds)) for way, seconds in took.items()}
    ideal, hashed = mean["ideal"], mean["hashing"]
    yield Measurement(f"{name}: ideal", ideal, 1.0, "itself", None)
    yield Measurement(f"{name}: hashing", hashed, hashed / ideal, "the ideal", None)
    for way in ("mixed", "level"):
        ours, plain = mean[way], usual[way] / usual["ideal"]
        yield Measurement(f"{name}: {way}", ours, ours / ideal, "the ideal", NEAR)
        yield Measurement(f"{name}: {way}", ours, ours / hashed, "hashing", GAIN)
        yield Measurement(f"{name}: {way}, the median", usual[way], plain, "the ideal", None)


def _write(folder: Path) -> None:
    """One file a batch, and the same rows with keys that are level."""
    for name in ("rows", "ideal"):
        (folder / name).mkdir()
    keys = FluctuatingKeys.zipf(EXPONENT, KEYS)
    owner = ConsistentRing(WORKERS).router().route(keys.hashes)
    for batch in range(BATCHES):
        if batch and batch % CHANGE == 0:
            keys = keys.shifted(owner, RATE)
        draw = np.random.default_rng((42, batch))
        ids = draw.choice(KEYS, ROWS, p=keys.shares / keys.shares.sum())
        for name, found in (("rows", ids), ("ideal", _level(owner))):
            write_stream_file(pa.table({"key": pa.array(found, pa.int64())}), folder / name, batch)


def _level(owner: NDArray[np.int32]) -> NDArray[np.int64]:
    """Keys in turn, so that every worker gets as many rows."""
    each = ROWS // WORKERS
    return np.concatenate(
        [np.resize(np.flatnonzero(owner == worker), each) for worker in range(WORKERS)]
    )


def _seconds(session: SparkSession, folder: str, source: str, way: str) -> list[float]:
    """Of the batches after the first plan; when keys change, two of them are before the next."""
    from unskew.streaming import stateful

    reader = session.readStream.schema("key bigint").option("maxFilesPerTrigger", 1)
    stream = stateful(
        reader.parquet(f"{folder}/{source}"), "key", _costly, schema="key bigint, n bigint",
        state_schema="n bigint", checkpoint=f"{folder}/state-{way}", workers=WORKERS, theta=THETA,
        rebalancer=way if way in ("mixed", "level") else None,
    )  # fmt: skip
    stream.start(_discard, availableNow=True).awaitTermination()
    return [each.seconds for each in stream.progress][LEARNING:]


def _costly(key: Any, rows: pa.Table, state: Any) -> Any:
    time.sleep(COST * rows.num_rows)
    return count_rows(key, rows, state)


def _discard(output: DataFrame, batch: int) -> None:
    output.write.format("noop").mode("overwrite").save()
