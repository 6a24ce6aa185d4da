"""State as DataFrames that stay where they are: a base and newer layers over it.

Every layer holds versions of some keys' state, placed by slot and kept by the executors
(`localCheckpoint`), and lies in a Parquet folder too. A key's state is its highest version on the
slot that the routing table names. Rows on any other slot are left over from before a move: no row
of the stream meets them there, and the next merge drops them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from evenkeel.partitioners import RoutingTable
from evenkeel.spark.state.commits import Commit, LayerFile
from evenkeel.spark.state.files import Files
from evenkeel.spark.state.shape import StateShape
from evenkeel.spark.state.slots import Slots

COLUMNS = ("slot", "hash", "key", "version", "due", "bytes", "state")


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Some versions of some keys; `held` is the frame whose blocks the executors keep."""

    frame: DataFrame
    held: DataFrame

    def free(self) -> None:
        """Let the executors forget it."""
        free(self.held)


@dataclass(frozen=True, slots=True, eq=False)
class PlacedState:
    """State under one routing table: the base, and what came after it, the newest last.

    `files` are what a restart needs: the first holds the base, the others all recent layers
    except moved state, which lies in files already.
    """

    slots: Slots
    table: RoutingTable
    home: Column
    """Where the table has the key of a row, as an expression of its `hash`."""
    base: Layer
    recent: tuple[Layer, ...]
    files: tuple[LayerFile, ...]

    @classmethod
    def load(
        cls, spark: SparkSession, shape: StateShape, files: Files, commit: Commit | None,
        table: RoutingTable,
    ) -> PlacedState:  # fmt: skip
        """Read what a commit names, and place it by `table`, for any number of workers."""
        slots = Slots.of(spark, table.workers)
        home = slots.column(table, F.col("hash"))
        paths = [files.path(each.path) for each in commit.layers] if commit is not None else []

        def layer(paths: list[str]) -> Layer:
            reader = spark.read.schema(shape.layer)
            rows = reader.parquet(*paths) if paths else spark.createDataFrame([], shape.layer)
            routed = rows.withColumn("slot", home)
            held = newest(placed(routed, slots.workers)).localCheckpoint(eager=False)
            return Layer(held, held)

        recent = (layer(paths[1:]),) if len(paths) > 1 else ()
        found = () if commit is None else commit.layers
        return cls(slots, table, home, layer(paths[:1]), recent, found)

    @property
    def frame(self) -> DataFrame:
        """Every version of every key."""
        return _union([self.base, *self.recent])

    def touched(self, rows: DataFrame, now: int | None) -> DataFrame:
        """All versions of the keys that have rows, or whose time-out may have passed."""
        wanted = rows.select("slot", "hash")
        if now is not None:
            # An older version may be due where the newest is not: the slot sees all and decides.
            due = self.frame.where((F.col("due") <= now) & (F.col("slot") == self.home))
            wanted = wanted.unionAll(due.select("slot", "hash"))
        wanted = wanted.toDF("wanted_slot", "wanted_hash").hint("shuffle_hash")
        # By hash: a key that shares it comes along in vain, and null keys need no care.
        same = (F.col("slot") == F.col("wanted_slot")) & (F.col("hash") == F.col("wanted_hash"))
        return self.frame.join(wanted, same, "left_semi")

    def under(self, table: RoutingTable) -> tuple[PlacedState, Layer | None]:
        """The same state under another table, and the state that moves.

        Only keys that change worker are copied. The scan for them compares two columns that are
        both functions of the hash, so it needs neither a join nor the list of changed keys.
        """
        if table is self.table:
            return self, None
        target = self.slots.column(table, F.col("hash"))
        leaving = (F.col("slot") == self.home) & (F.col("slot") != target)
        # Forgotten keys move too: where they go an older version may lie, left over from before.
        # The new slot must be a column: a literal would be another kind of partitioning.
        moved = newest(self.frame.where(leaving))
        held = placed(moved.withColumn("slot", target), self.slots.workers)
        held = held.localCheckpoint(eager=False)
        layer = Layer(held, held)
        return replace(self, table=table, home=target, recent=(*self.recent, layer)), layer

    def with_layer(self, layer: Layer, file: LayerFile) -> PlacedState:
        """One layer more, the newest."""
        return replace(self, recent=(*self.recent, layer), files=(*self.files, file))

    def merged_recent(self) -> DataFrame:
        """The newest versions of all layers but the base."""
        return newest(_union(self.recent).where(F.col("slot") == self.home))

    def merged_whole(self, recent: DataFrame) -> DataFrame:
        """The base with `recent` over it, without the keys that were forgotten.

        Only here may the mark of a forgotten key go: an older layer's version would come back.
        """
        base = self.base.frame.where(F.col("slot") == self.home)
        names = {name: f"newer_{name}" for name in ("slot", "hash", "key")}
        newer = recent.select(*(F.col(name).alias(new) for name, new in names.items()))
        same = reduce(
            Column.__and__, (F.col(name).eqNullSafe(F.col(new)) for name, new in names.items())
        )
        older = base.join(newer.hint("shuffle_hash"), same, "left_anti")
        return older.unionAll(recent).where("state is not null")

    def free(self) -> None:
        """Let the executors forget all of it."""
        for layer in (self.base, *self.recent):
            layer.free()


def _union(layers: Iterable[Layer]) -> DataFrame:
    return reduce(DataFrame.unionAll, (layer.frame for layer in layers))


def newest(frame: DataFrame) -> DataFrame:
    """The highest version of every key."""
    rest = F.struct("version", "due", "bytes", "state")
    best = frame.groupBy("slot", "hash", "key").agg(F.max_by(rest, "version").alias("newest"))
    return best.select("slot", "hash", "key", "newest.*")


def placed(frame: DataFrame, workers: int) -> DataFrame:
    """Rows onto the worker that has their slot."""
    return frame.repartition(workers, "slot")


def free(held: DataFrame) -> None:
    """Drop the blocks of a local checkpoint; without this they stay until the driver ends."""
    plan: Any = held._jdf.logicalPlan()
    plan.rdd().unpersist(False)
