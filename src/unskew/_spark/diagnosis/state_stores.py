"""The state stores of a checkpoint and how many rows each partition has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from unskew._spark.diagnosis.store_skew import StoreSkew
from unskew._spark.routing.native import worker_expression
from unskew.errors import InputError
from unskew.partitioners.serialization import from_json


def spark_stores(spark: SparkSession, checkpoint: str) -> tuple[int, list[StoreSkew]]:
    """The last batch and the stores of a checkpoint that Spark keeps."""
    try:
        described = spark.read.format("state-metadata").load(checkpoint).collect()
    except PySparkException as error:
        raise InputError(
            f"{checkpoint} cannot be read as the checkpoint of a query with state: "
            f"{str(error).splitlines()[0]}"
        ) from error
    if not described:
        raise InputError(
            f"{checkpoint} holds no state; give the checkpointLocation of a query that keeps some"
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
    """A processor with several variables keeps each as a store of its own."""
    known = row.asDict()
    properties = json.loads(known.get("operatorProperties") or "{}")
    found = properties.get("stateVariables") or []
    named = json.loads(found) if isinstance(found, str) else found
    # Names that start with a dollar sign are Spark's own, for timers.
    return [each["stateName"] for each in named if not each["stateName"].startswith("$")] or [None]


def moving_stores(spark: SparkSession, checkpoint: str) -> tuple[int, list[StoreSkew]] | None:
    """The last batch and the keyed state of a checkpoint of ours; None for any other."""
    folder = f"{checkpoint}/state"
    try:
        texts = spark.read.text(f"{folder}/commits", pathGlobFilter="*.json").collect()
    except PySparkException:
        return None
    commits = [json.loads(row[0]) for row in texts if row[0].startswith("{")]
    if not commits:
        return None
    last = max(commits, key=lambda commit: int(commit["batch"]))
    table = from_json(last["table"])
    layers = [f"{folder}/{layer['path']}" for layer in last["layers"]]
    if not layers:
        return int(last["batch"]), [_moving("rows", (0,) * table.workers)]
    rest = F.struct("bytes", F.col("state").isNotNull().alias("there"))
    newest = (
        spark.read.parquet(*layers)
        .groupBy("hash", "key")
        .agg(F.max_by(rest, "version").alias("newest"))
        .where("newest.there")
        .withColumn("worker", worker_expression(table, F.col("hash"), F.col("hash")))
    )
    counted = newest.groupBy("worker").agg(
        F.count(F.lit(1)).alias("rows"), F.sum("newest.bytes").alias("bytes")
    )
    found = {row["worker"]: row for row in counted.collect()}
    return int(last["batch"]), [
        _moving(unit, tuple(int(found[w][unit]) if w in found else 0 for w in range(table.workers)))
        for unit in ("rows", "bytes")
    ]


def _moving(unit: str, loads: Sequence[int]) -> StoreSkew:
    return StoreSkew(0, "stateful", "state by worker", unit, tuple(loads))


def _counted(found: DataFrame, by: str, count: Any, partitions: int) -> tuple[int, ...]:
    loads = [0] * partitions
    for place, load in found.groupBy(by).agg(count).collect():
        loads[place] = int(load)
    return tuple(loads)
