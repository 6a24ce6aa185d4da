"""The partial results of a stream in Parquet folders, one for each micro-batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.engine.aggregate_functions import StateFunctions
from unskew._spark.frames.keys import KeyColumns, column
from unskew._spark.routing.native import by_hash
from unskew._spark.streaming.state_store_merge import STATE
from unskew.errors import InputError
from unskew.kernels import KeyHashes
from unskew.kernels.planned import Weights

SNAPSHOT = 20
"""Every so many batches a folder holds all that came before it, too."""

ROWS, BATCH = "__unskew_rows", "__unskew_batch"

_COUNTED = 20_000  # Keys that the driver looks at; all others go by their hash.


class KeyCounts(NamedTuple):
    """The heavy keys of a batch, and what hashing all keys would give each worker."""

    keys: KeyHashes
    weights: Weights
    hashed: Weights


@dataclass(frozen=True, slots=True)
class KeptParts:
    """The folders below `store`. One that is written again replaces what was there."""

    spark: SparkSession
    store: str
    key: tuple[str, ...]
    functions: StateFunctions

    def write(self, parts: DataFrame, number: int) -> None:
        """Keep the key, `STATE` and `ROWS` of one batch."""
        if number and number % SNAPSHOT == 0:
            before = self._merged(number - SNAPSHOT, number - 1, self.functions.combine)
            parts = parts.unionByName(before.withColumn(ROWS, F.lit(0).cast("bigint")))
        parts.write.mode("overwrite").parquet(self._folder(number))

    def counts(self, number: int, workers: int) -> KeyCounts:
        """How many rows the keys of one batch had."""
        rows = self.spark.read.parquet(self._folder(number)).where(column(ROWS) > 0)
        counted = (
            rows.groupBy(KeyColumns.of(rows, self.key).hash.alias("hash"))
            .agg(F.sum(column(ROWS)).alias("rows"))
            .withColumn("worker", by_hash(F.col("hash"), workers))
            .persist()
        )
        try:
            top = counted.orderBy(F.desc("rows")).limit(_COUNTED).select("hash", "rows").collect()
            loads = counted.groupBy("worker").agg(F.sum("rows")).collect()
        finally:
            counted.unpersist()
        hashed = np.zeros(workers)
        for worker, load in loads:
            hashed[worker] = load
        keys = np.array([row[0] for row in top], dtype=np.int64).view(np.uint64)
        return KeyCounts(keys, np.array([row[1] for row in top], dtype=np.float64), hashed)

    def merged(self, merge: Callable[[Column], Column]) -> DataFrame:
        """The states of all batches, merged by key."""
        last = self.last()
        if last is None:
            raise InputError(f"{self.store} holds no batch yet")
        return self._merged(last - last % SNAPSHOT, last, merge)

    def check_goes_on(self, number: int) -> None:
        """Refuse a batch that does not follow, or repeat, the last one that was kept."""
        last = self.last()
        if number not in ((0,) if last is None else (last, last + 1)):
            raise InputError(
                f"{self.store} holds batches up to {last} and the query goes on with {number}: it "
                "belongs to another checkpoint; give an empty store, or put the checkpoint back"
            )

    def last(self) -> int | None:
        """The last batch that was kept."""
        try:
            found = self.spark.read.parquet(self.store).agg(F.max(BATCH)).collect()
        except AnalysisException:
            return None  # There is no such folder, or nothing in it.
        return None if found[0][0] is None else int(found[0][0])

    def _merged(self, first: int, last: int, merge: Callable[[Column], Column]) -> DataFrame:
        rows = self.spark.read.parquet(self.store).where(F.col(BATCH).between(first, last))
        return rows.groupBy(*map(column, self.key)).agg(merge(column(STATE)).alias(STATE))

    def _folder(self, number: int) -> str:
        return f"{self.store}/{BATCH}={number}"
