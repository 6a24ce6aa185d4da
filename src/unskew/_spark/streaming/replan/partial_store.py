"""A store of partial results: Parquet folders, one for each micro-batch.

The key is stored by position, as k0, k1, ...: a user's names cannot meet those of the store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.frames.keys import KeyColumns, column
from unskew._spark.routing.native import by_hash
from unskew.errors import InputError
from unskew.kernels import KeyHashes
from unskew.kernels.planned import Weights

SNAPSHOT = 20
"""Every so many batches a folder holds all that came before it, too."""

_STATE, _ROWS, _BATCH = "state", "rows", "batch"

_COUNTED = 20_000  # Keys that the driver looks at; all others go by their hash.


class BatchKeys(NamedTuple):
    """The heavy keys of a batch, and what hashing all keys would give each worker."""

    keys: KeyHashes
    weights: Weights
    hashed: Weights


@dataclass(frozen=True, slots=True)
class PartialStore:
    """The folders below `store`. Writing a batch again replaces its folder."""

    spark: SparkSession
    store: str
    plan: AggregationPlan

    def write(self, parts: DataFrame, rows: str, number: int) -> None:
        """Store a batch: the key, the states, and in the column `rows` how many rows they hold."""
        states = [column(self.plan.state).alias(_STATE), column(rows).alias(_ROWS)]
        keys = [each.alias(name) for each, name in zip(self.plan.keys, self._keys, strict=True)]
        stored = parts.select(*keys, *states)
        if number and number % SNAPSHOT == 0:
            combine = self.plan.functions().combine
            before = self._merged(number - SNAPSHOT, number - 1, combine)
            stored = stored.unionByName(before.withColumn(_ROWS, F.lit(0).cast("bigint")))
        stored.write.mode("overwrite").parquet(self._folder(number))

    def counts(self, number: int, workers: int) -> BatchKeys:
        """How many rows the keys of one batch had."""
        rows = self.spark.read.parquet(self._folder(number)).where(F.col(_ROWS) > 0)
        counted = (
            rows.groupBy(KeyColumns.of(rows, self._keys).hash.alias("hash"))
            .agg(F.sum(_ROWS).alias("rows"))
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
        return BatchKeys(keys, np.array([row[1] for row in top], dtype=np.float64), hashed)

    def merged(self) -> DataFrame:
        """The key's columns, and the results of all batches in the plan's column `state`."""
        last = self.last()
        if last is None:
            raise InputError(f"{self.store} holds no batch yet")
        merged = self._merged(last - last % SNAPSHOT, last, self.plan.functions().merge)
        keys = [F.col(name).alias(key) for name, key in zip(self._keys, self.plan.key, strict=True)]
        return merged.select(*keys, F.col(_STATE).alias(self.plan.state))

    def check_next(self, number: int) -> None:
        """Raise unless the batch follows, or repeats, the last one in the store."""
        last = self.last()
        if number not in ((0,) if last is None else (last, last + 1)):
            raise InputError(
                f"{self.store} holds batches up to {last}, but the query continues with {number}: "
                "the store belongs to another checkpoint; use an empty store, or that checkpoint"
            )

    def last(self) -> int | None:
        """The number of the last batch in the store."""
        try:
            found = self.spark.read.parquet(self.store).agg(F.max(_BATCH)).collect()
        except AnalysisException:
            return None  # There is no such folder, or nothing in it.
        return None if found[0][0] is None else int(found[0][0])

    def _merged(self, first: int, last: int, merge: Callable[[Column], Column]) -> DataFrame:
        rows = self.spark.read.parquet(self.store).where(F.col(_BATCH).between(first, last))
        return rows.groupBy(*self._keys).agg(merge(F.col(_STATE)).alias(_STATE))

    def _folder(self, number: int) -> str:
        return f"{self.store}/{_BATCH}={number}"

    @property
    def _keys(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.plan.key))]
