"""What routing costs on Spark where there is neither skew nor work: routing and shuffle alone."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unskew.hashing import hash_ids
from unskew.partitioners import (
    ConsistentRing,
    KeyGrouping,
    PartialKey,
    Partitioner,
    PlannedSplit,
    RandomChoices,
    RoutingTable,
)
from unskew.sketches.key_counts import KeyCounts
from unskew_lab.benchmarks.measuring import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 8_000_000
KEYS = 100_003
WORKERS = 16
ROUNDS = 4
"""The first is for the compilers; the best of the other three counts."""
NATIVE, ONLINE = 1.2, 1.5
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
BATCHES = (10_000, 100_000)
"""Spark's default for rows in a batch to Python, and what suits a function as cheap as routing."""

AGAINST = "Spark's repartition(n, key)"


def run() -> list[Row]:
    """Every kind of lowering on narrow rows with even keys, against Spark's own repartition."""
    from unskew._spark.routing.native import is_native
    from unskew._spark.session import local_session

    session = local_session()
    with tempfile.TemporaryDirectory() as folder:
        rows = _narrow_rows(session, Path(folder) / "rows")
        works: dict[str, tuple[int, Callable[[], DataFrame]]] = {
            AGAINST: (BATCHES[0], lambda: rows.repartition(WORKERS, "key"))
        }
        for partitioner in _schemes():
            for batch in BATCHES[:1] if is_native(partitioner) else BATCHES:
                works[_name(partitioner, batch)] = batch, _placed(rows, partitioner)
        seconds = _best_in_turn(session, works)
    yardstick = seconds.pop(AGAINST)
    return [
        Row(name, time_, time_ / yardstick, AGAINST, _target(name))
        for name, time_ in seconds.items()
    ]


def _narrow_rows(session: SparkSession, folder: Path) -> DataFrame:
    from pyspark.sql import functions as F

    key = (F.col("id") % KEYS).alias("key")
    session.range(0, ROWS, 1, 4).select(key, F.col("id").alias("value")).write.parquet(str(folder))
    return session.read.parquet(str(folder))


def _schemes() -> list[Partitioner]:
    """Native and on-line schemes; tables of 1,000 keys, 100 of them split."""
    keys = hash_ids(np.arange(1000))
    owners = (np.arange(keys.size) % WORKERS).astype(np.int32)
    counts = KeyCounts(keys, np.where(np.arange(1000) < 100, 1000, 10))
    return [
        KeyGrouping(WORKERS),
        ConsistentRing(WORKERS),
        RoutingTable(WORKERS, keys, owners),
        PlannedSplit(WORKERS, counts=counts),
        PartialKey(WORKERS),
        RandomChoices(WORKERS),
    ]


def _placed(rows: DataFrame, partitioner: Partitioner) -> Callable[[], DataFrame]:
    from unskew._spark.routing.placement import place_by

    return lambda: place_by(rows, "key", partitioner)


def _name(partitioner: Partitioner, batch: int) -> str:
    from unskew._spark.routing.native import is_native

    kind = "native" if is_native(partitioner) else f"on line in batches of {batch:,}"
    return f"{partitioner.scheme} on Spark, {kind}"


def _target(name: str) -> float | None:
    if name.endswith("native"):
        return NATIVE
    return ONLINE if name.endswith(f"{BATCHES[-1]:,}") else None


def _best_in_turn(
    session: SparkSession, works: dict[str, tuple[int, Callable[[], DataFrame]]]
) -> dict[str, float]:
    """The best time of each, all taking turns, so that a slow minute hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, (batch, work) in works.items():
            session.conf.set(BATCH, batch)
            started = time.perf_counter()
            work().write.format("noop").mode("overwrite").save()
            times[name].append(time.perf_counter() - started)
    session.conf.set(BATCH, BATCHES[0])
    return {name: min(taken[1:]) for name, taken in times.items()}
