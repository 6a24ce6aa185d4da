"""Skew of the state of a streaming query, from any checkpoint: unskew's or Spark's own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.frames.files import Files, is_connect
from unskew._spark.frames.grouping import aggregate_by
from unskew._spark.stateful.stored_state import beside_query, last_commit, stored_state
from unskew.errors import InputError
from unskew.metrics import max_over_mean

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class StoreSkew:
    """One state store of one operator."""

    operator: int
    name: str
    """What the operator does, in Spark's words."""
    store: str
    unit: str
    """What is counted: rows of the store, or bytes where they are known."""
    loads: tuple[int, ...]
    """The amount in each partition."""

    @property
    def total(self) -> int:
        """The sum over all partitions."""
        return sum(self.loads)

    @property
    def max_over_mean(self) -> float:
        """The fullest partition relative to the mean."""
        return max_over_mean(np.array(self.loads)) if self.loads else 1.0

    def fullest(self, count: int = 5) -> list[tuple[int, int]]:
        """The fullest partitions, and the amount in each.

        >>> StoreSkew(0, "stateStoreSave", "default", "rows", (3, 9, 3)).fullest(1)
        [(1, 9)]
        """
        order = sorted(range(len(self.loads)), key=lambda place: (-self.loads[place], place))
        return [(place, self.loads[place]) for place in order[:count]]

    def as_dict(self) -> dict[str, Any]:
        """The fields, and the figures computed from them."""
        figures = {"total": self.total, "max_over_mean": self.max_over_mean}
        return {**asdict(self), "loads": list(self.loads), **figures, "fullest": self.fullest()}


@dataclass(frozen=True, slots=True)
class StateDiagnosis:
    """How the state of a query is spread over its partitions."""

    checkpoint: str
    batch: int
    """The last batch that is part of it."""
    kind: str
    """Whose checkpoint it is: spark or unskew."""
    stores: tuple[StoreSkew, ...]

    def as_dict(self) -> dict[str, Any]:
        """The diagnosis as a JSON object."""
        stores = [store.as_dict() for store in self.stores]
        return {
            "checkpoint": self.checkpoint, "batch": self.batch, "kind": self.kind, "stores": stores
        }  # fmt: skip

    def to_json(self) -> str:
        """The diagnosis as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each partition of each store."""
        import pandas as pd

        return pd.DataFrame(
            [
                (each.operator, each.name, each.store, place, each.unit, load)
                for each in self.stores
                for place, load in enumerate(each.loads)
            ],
            columns=["operator", "name", "store", "partition", "unit", "load"],
        )

    def to_html(self) -> str:
        """A self-contained page."""
        from unskew._spark.diagnosis.html import state_page

        return state_page(self)

    def _repr_html_(self) -> str:
        from unskew._spark.diagnosis.html import state_fragment

        return state_fragment(self)

    def show(self) -> None:
        """Print it as a table."""
        from unskew._spark.diagnosis.text import print_state

        print_state(self)


def diagnose_state(checkpoint: str, *, spark: SparkSession | None = None) -> StateDiagnosis:
    """Measure how the state in `checkpoint` is spread over partitions; the query may be running.

    For keyed state that unskew moves (`unskew.streaming.stateful`) a partition is a worker.

    Parameters
    ----------
    checkpoint : str
        The `checkpointLocation` of a query with state, unskew's or not.
    spark : SparkSession, optional
        The session that reads it; the active one if not given.

    Returns
    -------
    StateDiagnosis
        With `show()`, `to_html()`, `to_pandas()`, `to_json()`.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise InputError("no active Spark session; pass spark=")
    found = stateful_stores(session, str(checkpoint))
    kind = "unskew" if found else "spark"
    batch, stores = found or spark_stores(session, str(checkpoint))
    return StateDiagnosis(str(checkpoint), batch, kind, tuple(stores))


def spark_stores(spark: SparkSession, checkpoint: str) -> tuple[int, list[StoreSkew]]:
    """The last batch and the stores of a checkpoint that Spark keeps."""
    try:
        described = spark.read.format("state-metadata").load(checkpoint).collect()
    except PySparkException as error:
        raise InputError(
            f"{checkpoint} is not a readable checkpoint of a stateful query: "
            f"{str(error).splitlines()[0]}; pass its checkpointLocation, and for one of "
            "unskew.streaming.stateful use a classic session"
        ) from error
    if not described:
        raise InputError(
            f"{checkpoint} holds no state; pass the checkpointLocation of a stateful query"
        )
    batch = max(row["maxBatchId"] for row in described)
    return batch, [store for row in described for store in _stores(spark, checkpoint, row)]


def _stores(spark: SparkSession, checkpoint: str, row: Any) -> Iterable[StoreSkew]:
    reader = spark.read.format("statestore").option("operatorId", row["operatorId"])
    name, partitions = row["operatorName"], row["numPartitions"]
    for variable in _variables(row):
        if variable is None:
            found = reader.option("storeName", row["stateStoreName"]).load(checkpoint)
        else:
            found = reader.option("stateVarName", variable).load(checkpoint)
        store = row["stateStoreName"] if variable is None else variable
        loads = _counted(found, "partition_id", F.count(F.lit(1)), partitions)
        yield StoreSkew(row["operatorId"], name, store, "rows", loads)


def _variables(row: Any) -> list[str | None]:
    """The state variables of an operator: each of them is a store."""
    known = row.asDict()
    properties = json.loads(known.get("operatorProperties") or "{}")
    found = properties.get("stateVariables") or []
    named = json.loads(found) if isinstance(found, str) else found
    # Names that start with a dollar sign are Spark's own, for timers.
    return [each["stateName"] for each in named if not each["stateName"].startswith("$")] or [None]


def _counted(found: DataFrame, by: str, count: Any, partitions: int) -> tuple[int, ...]:
    loads = [0] * partitions
    for place, load in aggregate_by(found, [F.col(by)], count).collect():
        loads[place] = int(load)
    return tuple(loads)


def stateful_stores(spark: SparkSession, checkpoint: str) -> tuple[int, list[StoreSkew]] | None:
    """The last batch and the keyed state of a `stateful` checkpoint; None for any other."""
    if is_connect(spark):  # Commits are read through the driver's JVM.
        return None
    files = Files(spark, f"{checkpoint}/state")
    return beside_query(files, lambda: _stateful_stores(spark, files))


def _stateful_stores(spark: SparkSession, files: Files) -> tuple[int, list[StoreSkew]] | None:
    commit = last_commit(files)
    if commit is None:
        return None
    counted = aggregate_by(
        stored_state(spark, files, commit),
        [F.col("worker")],
        F.count(F.lit(1)).alias("rows"),
        F.sum("bytes").alias("bytes"),
    )
    found = {row["worker"]: row for row in counted.collect()}
    loads = {
        unit: tuple(int(found[w][unit]) if w in found else 0 for w in range(commit.table.workers))
        for unit in ("rows", "bytes")
    }
    stores = [StoreSkew(0, "stateful", "state by worker", unit, loads[unit]) for unit in loads]
    return commit.batch, stores
