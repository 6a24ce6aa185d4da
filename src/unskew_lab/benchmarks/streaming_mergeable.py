"""Mergeable work on a stream whose hot keys change, beside plain Spark.

Work is emulated: each row costs 0.2 ms of sleep, so sixteen slots work side by side on any machine.
The baseline is the ideal: all work divided by the slots, plus what the same query takes when rows
cost nothing. Plain is what Spark offers for work in Python on a stream: keyed state in pandas.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.session import new_session
from unskew_lab.stream_files import write_stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOTS = 16
ROWS, KEYS, EXPONENT = 160_000, 2_000, 1.2
BATCHES, EPOCH, FILES = 14, 10, 4
COST = 0.0002
LEVEL, GAIN = 1.25, 0.5


def run() -> list[Measurement]:
    """Batch times of routed parts against the ideal, and against plain Spark."""
    session = new_session(SLOTS)
    with tempfile.TemporaryDirectory() as folder:
        write_batches(Path(folder) / "in", BATCHES)
        free, ours, plain = (
            _times(session, Path(folder), name, work, cost)
            for name, work, cost in [
                ("free", _routed, 0.0),
                ("ours", _routed, COST),
                ("plain", _plain, COST),
            ]
        )
    return _rows(free, ours, plain)


def _rows(free: list[float], ours: list[float], plain: list[float]) -> list[Measurement]:
    # The first batch starts the Python workers; the tenth is the first with other hot keys.
    fixed = median(free[1:])
    ideal = ROWS * COST / SLOTS + fixed
    usual, changed, slow = median(ours[1:]), max(ours[EPOCH : EPOCH + 2]), median(plain[1:])
    what = f"stream: {ROWS} rows a batch"
    return [
        Measurement(f"{what}: ideal, of it {fixed:.2f} s fixed cost", ideal, 1.0, "itself", None),
        Measurement(f"{what}: routed parts", usual, usual / ideal, "the ideal", LEVEL),
        Measurement(f"{what}: when hot keys change", changed, changed / ideal, "the ideal", LEVEL),
        Measurement(f"{what}: keyed state in pandas", slow, slow / ideal, "the ideal", None),
        Measurement(f"{what}: routed parts", usual, usual / slow, "keyed state in pandas", GAIN),
    ]


def write_batches(folder: Path, batches: int) -> None:
    """Zipf keys, a few files for each batch; every `EPOCH` batches other keys are hot."""
    random = np.random.default_rng(7)
    shares = 1 / np.arange(1, KEYS + 1) ** EXPONENT
    folder.mkdir()
    for batch in range(batches):
        if batch % EPOCH == 0:
            names = random.permutation(KEYS)
        keys = names[random.choice(KEYS, ROWS, p=shares / shares.sum())]
        for part, some in enumerate(np.array_split(keys, FILES)):
            table = pa.table({"key": pa.array(some, pa.int64())})
            write_stream_file(table, folder, batch * FILES + part)


def _times(
    session: SparkSession,
    folder: Path,
    name: str,
    work: Callable[[DataFrame, float], DataFrame],
    cost: float,
) -> list[float]:
    """Seconds of each batch."""
    reader = session.readStream.schema("key bigint").option("maxFilesPerTrigger", FILES)
    result = work(reader.parquet(str(folder / "in")), cost)
    query = (
        result.writeStream.outputMode("update")
        .format("noop")
        .option("checkpointLocation", str(folder / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    done = [each for each in query.recentProgress if each["numInputRows"]]
    assert len(done) == BATCHES, f"{len(done)} batches ran of {BATCHES}"
    return [each["batchDuration"] / 1000 for each in done]


def _routed(stream: DataFrame, cost: float) -> DataFrame:
    from pyspark.sql import functions as F

    import unskew

    def part(table: pa.Table) -> pa.Table:
        time.sleep(table.num_rows * cost)
        return pa.table({"n": pa.array([table.num_rows], pa.int64())})

    grouped = unskew.streaming.groupBy(stream, "key", workers=SLOTS)
    return grouped.applyInArrow(part, "n bigint", merge=[F.sum("n").alias("n")])


def _plain(stream: DataFrame, cost: float) -> DataFrame:
    import pandas as pd
    from pyspark.sql.streaming.state import GroupStateTimeout

    def count(key: tuple[int], parts: Iterator[Any], state: Any) -> Iterator[Any]:
        rows = sum(len(part) for part in parts)
        time.sleep(rows * cost)
        total = rows + (state.get[0] if state.exists else 0)
        state.update((total,))
        yield pd.DataFrame({"key": [key[0]], "n": [total]})

    # A column beside the key: Spark hands over none but those that are not in it.
    return (
        stream.selectExpr("key", "key same")
        .groupBy("key")
        .applyInPandasWithState(
            count, "key bigint, n bigint", "n bigint", "update", GroupStateTimeout.NoTimeout
        )
    )
