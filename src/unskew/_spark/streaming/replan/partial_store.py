"""A store of partial results: Parquet folders, and commits that name their files.

The key is stored by position, as k0, k1, ...: a user's names cannot meet those of the store.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.frames.checksums import PartFile, check_part_files, part_files
from unskew._spark.frames.fault_points import fault_point
from unskew._spark.frames.files import DamagedFileError, Files
from unskew._spark.frames.grouping import aggregate_by
from unskew._spark.frames.keys import KeyColumns, column
from unskew._spark.routing.native import by_hash
from unskew._spark.streaming.replan.store_commits import (
    Identity,
    StoreCommit,
    StoreLog,
    refuse_damaged,
)
from unskew.errors import InputError, StateError
from unskew.kernels import KeyHashes
from unskew.kernels.planned import Weights

COMPACT_AFTER = 20
"""Folders that one folder replaces, with what the batch adds that does it."""

POINTS = ("begun", "written", "committed", "cleaned")
"""Where a batch may fail in a test, in the order in which it passes them."""

_STATE, _ROWS, _PARTS = "state", "rows", "parts"

_COUNTED = 20_000  # Keys that the driver looks at; all others go by their hash.


class BatchKeys(NamedTuple):
    """The heavy keys of a batch, and what hashing all keys would give each worker."""

    keys: KeyHashes
    weights: Weights
    hashed: Weights


@dataclass(frozen=True, slots=True)
class PartialStore:
    """The partial results of all batches.

    Order of writes: a folder with the batch, or every 20th time with all that came before it too;
    the commit; and only then the removal of what no commit needs. Files are checked when they are
    read, apart from those that the same batch wrote.
    """

    spark: SparkSession
    files: Files
    plan: AggregationPlan

    @classmethod
    def at(cls, spark: SparkSession, store: str, plan: AggregationPlan) -> PartialStore:
        """The store in a folder, which may be empty."""
        return cls(spark, Files(spark, store), plan)

    def begin(self, query: str, number: int) -> StoreCommit | None:
        """What the batch adds to; raise unless it continues, or repeats, what is stored."""
        last = self.last()
        if last is not None and last.query != query:
            raise StateError(
                f"{self.files.folder} belongs to query {last.query}, but this is {query}, with "
                "another checkpoint; use an empty store, or that checkpoint"
            )
        done = -1 if last is None else last.batch
        if number not in (done, done + 1):
            raise StateError(
                f"{self.files.folder} ends with batch {done}, but the query continues with batch "
                f"{number}: the store belongs to another checkpoint, or has lost commits; restore "
                "them, or use an empty store and a new checkpoint"
            )
        fault_point("begun", number)
        return last

    def write(
        self,
        before: StoreCommit | None,
        parts: DataFrame,
        rows: str,
        query: str,
        number: int,
        owners: tuple[int, ...] = (),
    ) -> StoreCommit:
        """Store a batch: the key, the states, and in the column `rows` how many rows they hold."""
        states = [column(self.plan.state).alias(_STATE), column(rows).alias(_ROWS)]
        keys = [each.alias(name) for each, name in zip(self.plan.keys, self._keys, strict=True)]
        stored = parts.select(*keys, *states)
        kept = {} if before is None else before.folders
        replaced = before if len(kept) >= COMPACT_AFTER else None
        if replaced is not None:
            older = self._merged(self._checked(replaced), self.plan.functions().combine)
            stored = stored.unionByName(older.withColumn(_ROWS, F.lit(0).cast("bigint")))
            kept = {}
        # A name of its own for each attempt: what another attempt left is never mistaken for it.
        folder = f"{_PARTS}/{number:012d}-{uuid.uuid4().hex[:12]}"
        stored.write.parquet(self.files.path(folder))
        fault_point("written", number)
        made = kept | {folder: part_files(self.files, folder)}
        commit = StoreCommit(number, query, Identity.of(self.plan), made, owners)
        log = StoreLog(self.files)
        log.write(commit)
        fault_point("committed", number)
        log.remove_before(number)
        if replaced is not None:
            self._clean({*made, *replaced.folders})
        fault_point("cleaned", number)
        return commit

    def _clean(self, needed: Iterable[str]) -> None:
        """Remove all but the needed folders.

        Those that a compaction replaced stay until the next one: results that were handed out
        before it may still be read.
        """
        for name in self.files.names(_PARTS):
            if f"{_PARTS}/{name}" not in needed:
                self.files.remove(f"{_PARTS}/{name}")

    def counts(self, commit: StoreCommit, workers: int) -> BatchKeys:
        """How many rows the keys of the newest batch had."""
        *_, newest = commit.folders.values()
        rows = self._read(newest).where(F.col(_ROWS) > 0)
        hashes = KeyColumns.of(rows, self._keys).hash.alias("hash")
        counted = (
            aggregate_by(rows, [hashes], F.sum(_ROWS).alias("rows"))
            .withColumn("worker", by_hash(F.col("hash"), workers))
            .persist()
        )
        try:
            top = counted.orderBy(F.desc("rows")).limit(_COUNTED).select("hash", "rows").collect()
            loads = aggregate_by(counted, [F.col("worker")], F.sum("rows")).collect()
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
            raise InputError(f"{self.files.folder} holds no batch yet")
        merged = self._merged(self._checked(last), self.plan.functions().merge)
        keys = [F.col(name).alias(key) for name, key in zip(self._keys, self.plan.key, strict=True)]
        return merged.select(*keys, F.col(_STATE).alias(self.plan.state))

    def check(self) -> None:
        """Raise unless the store is empty, or intact and of this plan."""
        last = self.last()
        if last is not None:
            self._checked(last)

    def last(self) -> StoreCommit | None:
        """The newest commit; raise if its states are of another plan."""
        last = StoreLog(self.files).last()
        wanted = Identity.of(self.plan)
        if last is not None and last.identity != wanted:
            for name in Identity.__slots__:
                found, ours = getattr(last.identity, name), getattr(wanted, name)
                if found != ours:
                    raise StateError(
                        f"{self.files.folder} holds {name}={found}, but this query has {ours}; use "
                        "the same as before, or an empty store and a new checkpoint"
                    )
        return last

    def _checked(self, commit: StoreCommit) -> list[PartFile]:
        try:
            check_part_files(self.files, commit.parts)
        except DamagedFileError as error:
            refuse_damaged(self.files, error)
        return commit.parts

    def _merged(self, parts: Iterable[PartFile], merge: Callable[[Column], Column]) -> DataFrame:
        keys = list(map(column, self._keys))
        return aggregate_by(self._read(parts), keys, merge(F.col(_STATE)).alias(_STATE))

    def _read(self, parts: Iterable[PartFile]) -> DataFrame:
        paths = [self.files.path(part.name) for part in parts]
        if not paths:
            return self.spark.createDataFrame([], self._schema)
        return self.spark.read.schema(self._schema).parquet(*paths)

    @property
    def _schema(self) -> StructType:
        found = self.plan.rows.select(*self.plan.keys).schema
        keys = [
            StructField(name, each.dataType) for name, each in zip(self._keys, found, strict=True)
        ]
        return StructType(
            [*keys, StructField(_STATE, BinaryType()), StructField(_ROWS, LongType())]
        )

    @property
    def _keys(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.plan.key))]
