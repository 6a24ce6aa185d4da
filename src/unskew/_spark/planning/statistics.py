"""Key statistics in one pass: rows, distinct keys, heavy keys, and the loads of hashing.

Of few rows the driver gets the hash of every key, eight bytes each, and counts them: no shuffle, no
sketch, nothing for Spark to compile. Of 24,000 rows that takes a tenth of the time, of 600,000 a
quarter.

More rows are grouped by the worker that their key's hash picks, and each group keeps a count, a
sketch of its frequent keys (Spark's own `approx_top_k`) and one of its distinct keys. A sketch per
worker is as many times more precise as there are workers, and the counts are key grouping's exact
loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.grouping import aggregate_by
from unskew._spark.frames.keys import KeyColumns
from unskew._spark.routing.native import by_hash
from unskew.partitioners import KeyGrouping
from unskew.partitioners.contract import KeyHashes

FEW = 1_000_000
"""Of so many rows the driver counts the keys itself."""
PASS = "frequencies of the keys"
"""The job that counts them, in Spark's pages."""
COUNTERS = 50_000
"""How many keys are tracked by all the sketches of a task together."""

_FULLEST = 0.75  # The sketch drops keys when its map, a power of two, is this full.
_ERROR = 3.5  # Its guarantee: no count is wrong by more than this share of rows / map size.


@dataclass(frozen=True, slots=True, eq=False)
class KeyProfile:
    """The key statistics of a DataFrame, for a number of workers."""

    workers: int
    rows: int
    distinct: int
    """Different keys, estimated."""
    nulls: int
    """Rows in which a key column is null."""
    loads: NDArray[np.float64]
    """Rows that each worker gets when keys go by their hash."""
    keys: KeyHashes
    """The hashes of the heavy keys, the heaviest first."""
    counts: NDArray[np.float64]
    """How many rows each of them has."""
    error: float
    """By how much a count may be wrong, in rows."""
    method: str
    """How it was measured, in words."""
    rest: NDArray[np.float64] = field(init=False)
    """The rows that keys which are not heavy bring to each worker by their hash."""

    def __post_init__(self) -> None:
        owners = KeyGrouping(self.workers).router().route(self.keys)
        heavy = np.bincount(owners, self.counts, minlength=self.workers)
        object.__setattr__(self, "rest", np.maximum(self.loads - heavy, 0.0))


def profile_keys(
    rows: DataFrame, key: KeyColumns, workers: int, sample: float | None = None, few: bool = False
) -> KeyProfile:
    """Run the pass: one job that reads `rows` once, or a `sample` of them; `few` if they are."""
    slim = rows.select(key.hash.alias("hash"), key.any_null.alias("empty"))
    taken = slim if sample is None else slim.sample(sample, 42)
    if few:
        return _counted(taken.toArrow(), workers, sample)
    tracked = min(max(COUNTERS // workers, 256), 10_000)
    groups = aggregate_by(
        taken,
        [by_hash(F.col("hash"), workers).alias("worker")],
        F.count(F.lit(1)).alias("rows"),
        F.count_if("empty").alias("nulls"),
        F.approx_count_distinct("hash").alias("distinct"),
        F.expr(f"approx_top_k(hash, {tracked}, {tracked})").alias("top"),
    )
    return _profile(groups.collect(), workers, tracked, sample)


def _counted(rows: pa.Table, workers: int, sample: float | None) -> KeyProfile:
    """The statistics of rows whose hashes are all here."""
    scale = 1.0 / (sample or 1.0)
    hashes = rows["hash"].to_numpy().view(np.uint64)
    keys, numbers = np.unique(hashes, return_counts=True)
    counts = numbers.astype(np.float64) * scale
    loads: NDArray[np.float64] = np.zeros(workers)
    np.add.at(loads, KeyGrouping(workers).router().route(keys), counts)
    heaviest = np.lexsort((keys, -counts))[:COUNTERS]
    return KeyProfile(
        workers,
        round(hashes.size * scale),
        keys.size,
        round(np.count_nonzero(rows["empty"]) * scale),
        loads,
        keys[heaviest],
        counts[heaviest],
        _luck(counts.max(initial=scale) / scale, sample),
        "all keys counted" + _of_sample(sample),
    )


def together(one: KeyProfile, other: KeyProfile) -> KeyProfile:
    """The statistics of the rows of both."""
    keys, where = np.unique(np.concatenate([one.keys, other.keys]), return_inverse=True)
    counts = np.zeros(keys.size)
    np.add.at(counts, where, np.concatenate([one.counts, other.counts]))
    order = np.lexsort((keys, -counts))
    return KeyProfile(
        one.workers,
        one.rows + other.rows,
        max(one.distinct, other.distinct),
        one.nulls + other.nulls,
        one.loads + other.loads,
        keys[order],
        counts[order],
        one.error + other.error,
        f"{one.method}, of each side",
    )


def _profile(groups: Sequence[Any], workers: int, tracked: int, sample: float | None) -> KeyProfile:
    scale = 1.0 / (sample or 1.0)
    loads = np.zeros(workers)
    for group in groups:
        loads[group["worker"]] = group["rows"] * scale
    found = [(item["item"], item["count"]) for group in groups for item in group["top"]]
    keys = np.array([item for item, _ in found], dtype=np.int64).view(np.uint64)
    counts = np.array([count for _, count in found], dtype=np.float64) * scale
    order = np.lexsort((keys, -counts))
    error = max((_error_of(group, tracked) for group in groups), default=0.0) * scale
    error += _luck(counts.max(initial=scale) / scale, sample)
    method = f"approx_top_k, {tracked} keys for each of {workers} workers" + _of_sample(sample)
    return KeyProfile(
        workers,
        round(float(loads.sum())),
        sum(group["distinct"] for group in groups),
        round(sum(group["nulls"] for group in groups) * scale),
        loads,
        keys[order],
        counts[order],
        error,
        method,
    )


def _luck(highest: float, sample: float | None) -> float:
    """By how much a sample may be wrong on a key of which it has `highest` rows."""
    # Two standard deviations of a binomial count.
    return 0.0 if sample is None else 2 * float(np.sqrt(highest * (1 - sample))) / sample


def _of_sample(sample: float | None) -> str:
    return "" if sample is None else f", on a sample of {sample:.4g} of the rows"


def _error_of(group: Any, tracked: int) -> float:
    """By how much the sketch of one worker's keys may be wrong: not at all if they all fit."""
    size = 1 << int(np.ceil(np.log2(tracked / _FULLEST)))
    # The number of keys is itself an estimate; 15 % is three of its standard deviations.
    if group["distinct"] * 1.15 < _FULLEST * size:
        return 0.0
    return float(_ERROR * group["rows"] / size)
