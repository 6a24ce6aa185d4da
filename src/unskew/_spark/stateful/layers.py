"""Keyed state as DataFrames that stay on their executors: a base, and newer layers over it.

Every layer holds versions of some keys' state, placed by slot and kept by the executors
(`localCheckpoint`), and lies in a Parquet folder too. A key's state is its highest version on the
slot that the routing table names. Rows on any other slot are left over from before a move: no row
of the stream meets them there, and the next compaction drops them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.frames.files import Files
from unskew._spark.routing.slots import Slots, never_null, place_by_slot
from unskew._spark.stateful.commits import Commit, LayerFile
from unskew._spark.stateful.config import StateSchema
from unskew.partitioners import RoutingTable
from unskew.partitioners.contract import KeyHashes, WorkerIds

PLACED_KEY = ("slot", "hash", "key")
COLUMNS = (*PLACED_KEY, "version", "due", "bytes", "state")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Some versions of some keys; `held` is the frame whose blocks the executors keep."""

    frame: DataFrame
    held: DataFrame

    def free(self) -> None:
        """Free its blocks on the executors."""
        free(self.held)


@dataclass(frozen=True, slots=True, eq=False)
class PlacedState:
    """State under one routing table: the base, and the layers after it, the newest last.

    `files` are what a restart needs: the first holds the base, the others all recent layers
    except moved state, which lies in files already.
    """

    slots: Slots
    table: RoutingTable
    home: Column
    """The slot of a row's key, as an expression of its `hash`."""
    base: Layer
    recent: tuple[Layer, ...]
    files: tuple[LayerFile, ...]
    movers: KeyHashes
    """Keys that have changed worker since the base was made: these may have left-overs."""

    @classmethod
    def load(
        cls, spark: SparkSession, schema: StateSchema, files: Files, commit: Commit | None,
        table: RoutingTable,
    ) -> PlacedState:  # fmt: skip
        """Read what a commit names, and place it by `table`, for any number of workers."""
        slots = Slots.of(spark, table.workers)
        home = slots.column(table, F.col("hash"))
        paths = [files.path(each.path) for each in commit.layers] if commit is not None else []

        def layer(paths: list[str]) -> Layer:
            reader = spark.read.schema(schema.layer)
            rows = reader.parquet(*paths) if paths else spark.createDataFrame([], schema.layer)
            routed = rows.withColumn("slot", home)
            held = newest(
                place_by_slot(routed, "slot", slots.workers), *PLACED_KEY
            ).localCheckpoint(eager=False)
            return Layer(held, held)

        recent = (layer(paths[1:]),) if len(paths) > 1 else ()
        found = () if commit is None else commit.layers
        nobody = np.empty(0, dtype=np.uint64)
        return cls(slots, table, home, layer(paths[:1]), recent, found, nobody)

    @property
    def frame(self) -> DataFrame:
        """Every version of every key."""
        return _union([self.base, *self.recent])

    def touched(self, rows: DataFrame, now: int | None) -> DataFrame:
        """All versions of the keys that have rows, or whose timeout may have passed."""
        wanted = rows.select("slot", "hash")
        if now is not None:
            # An older version may be due where the newest is not: the slot sees all and decides.
            due = self.at_home(self.frame.where(F.col("due") <= now))
            wanted = wanted.unionAll(due.select("slot", "hash"))
        wanted = wanted.toDF("wanted_slot", "wanted_hash").hint("shuffle_hash")
        # By hash: a key that shares it comes along for nothing, and null keys need no care.
        same = (F.col("slot") == F.col("wanted_slot")) & (F.col("hash") == F.col("wanted_hash"))
        return self.frame.join(wanted, same, "left_semi")

    def under(self, table: RoutingTable) -> tuple[PlacedState, Layer | None]:
        """The same state under another table, and the state that moves.

        Only keys that change worker are copied: those that either table names and the two send to
        different workers. Tombstones move too: an older version may exist where they go.
        """
        if table is self.table:
            return self, None
        named = np.union1d(self.table.keys, table.keys)
        before, after = (each.router().route(named) for each in (self.table, table))
        changed = before != after
        leaving = self._pairs(named[changed], before[changed], after[changed])
        # The new slot must be a column: a literal would be another kind of partitioning.
        same = (F.col("hash") == F.col("mover")) & (F.col("slot") == F.col("from"))
        leaves = self.frame.join(F.broadcast(leaving), same)
        moved = leaves.withColumn("slot", never_null(F.col("to")))
        held = newest(
            place_by_slot(moved.select(*COLUMNS), "slot", self.slots.workers), *PLACED_KEY
        )
        held = held.localCheckpoint(eager=False)
        layer = Layer(held, held)
        home = self.slots.column(table, F.col("hash"))
        movers = np.union1d(self.movers, named[changed])
        recent = (*self.recent, layer)
        return replace(self, table=table, home=home, recent=recent, movers=movers), layer

    def at_home(self, frame: DataFrame) -> DataFrame:
        """Rows of the state without those that were left over when their key moved."""
        if not self.movers.size:
            return frame
        owners = self.table.router().route(self.movers)
        homes = self._pairs(self.movers, owners, owners)
        stray = (F.col("hash") == F.col("mover")) & (F.col("slot") != F.col("to"))
        return frame.join(F.broadcast(homes), stray, "left_anti")

    def _pairs(self, keys: KeyHashes, before: WorkerIds, after: WorkerIds) -> DataFrame:
        """Keys with their old and new slots, small enough for a broadcast.

        As expressions the tables would be repeated for every layer, and planning would take longer
        than the batch.
        """
        numbers = np.array(self.slots.numbers, dtype=np.int32)
        columns = {"mover": keys.view(np.int64), "from": numbers[before], "to": numbers[after]}
        spark = self.base.frame.sparkSession
        return spark.createDataFrame(pa.table(columns))

    def with_layer(self, layer: Layer, file: LayerFile) -> PlacedState:
        """With one more layer, the newest."""
        return replace(self, recent=(*self.recent, layer), files=(*self.files, file))

    def compacted_recent(self) -> DataFrame:
        """The newest versions of all layers but the base."""
        return newest(self.at_home(_union(self.recent)), *PLACED_KEY)

    def compacted_base(self, recent: DataFrame) -> DataFrame:
        """The base with `recent` over it, without deleted keys.

        Only here may tombstones be dropped: elsewhere an older layer's version would come back.
        """
        base = self.at_home(self.base.frame)
        names = {name: f"newer_{name}" for name in PLACED_KEY}
        newer = recent.select(*(F.col(name).alias(new) for name, new in names.items()))
        same = reduce(
            Column.__and__, (F.col(name).eqNullSafe(F.col(new)) for name, new in names.items())
        )
        older = base.join(newer.hint("shuffle_hash"), same, "left_anti")
        return older.unionAll(recent).where("state is not null")

    def free(self) -> None:
        """Free all blocks on the executors."""
        for layer in (self.base, *self.recent):
            layer.free()


def _union(layers: Iterable[Layer]) -> DataFrame:
    return reduce(DataFrame.unionAll, (layer.frame for layer in layers))


def newest(frame: DataFrame, *identity: str) -> DataFrame:
    """The highest version of every key; `identity` are the columns that tell keys apart."""
    rest = F.struct("version", "due", "bytes", "state")
    best = frame.groupBy(*identity).agg(F.max_by(rest, "version").alias("newest"))
    return best.select(*identity, "newest.*")


def stored_state(spark: SparkSession, files: Files, commit: Commit) -> DataFrame:
    """The state of every key that has one after `commit`, as its layers hold it."""
    rows = spark.read.parquet(*(files.path(layer.path) for layer in commit.layers))
    return newest(rows, "hash", "key").where("state is not null")


def free(held: DataFrame) -> None:
    """Drop the blocks of a local checkpoint; without this they stay until the driver ends."""
    plan: Any = held._jdf.logicalPlan()
    plan.rdd().unpersist(False)
