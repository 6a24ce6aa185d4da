"""Streams from files, one file a micro-batch, and their output by batch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from unskew._spark.frames.schemas import arrow_schema


def write_batches(
    spark: SparkSession, folder: Path, schema: str, batches: Sequence[Sequence[tuple]]
) -> StructType:
    """Add a file for each batch, in order."""
    struct = spark.createDataFrame([], schema).schema
    folder.mkdir(exist_ok=True)
    first = len(list(folder.glob("*.parquet")))
    for number, rows in enumerate(batches, start=first):
        path = folder / f"{number:04}.parquet"
        records = [_record(row, struct) for row in rows]
        pq.write_table(pa.Table.from_pylist(records, arrow_schema(struct)), path)
        # Spark reads files in the order of their times.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return struct


def read_batches(spark: SparkSession, folder: Path, schema: StructType) -> DataFrame:
    """A stream with a micro-batch for each file."""
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run_stream(result: DataFrame, mode: str, folder: Path) -> DataFrame:
    """Run a stream on all there is; its output with the number of the batch that gave it."""
    out = folder / "out"

    def write(batch: DataFrame, number: int) -> None:
        batch.withColumn("batch", F.lit(number)).coalesce(1).write.mode("overwrite").parquet(
            f"{out}/{number}"
        )

    query = (
        result.writeStream.outputMode(mode)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    query.awaitTermination()
    schema = StructType([*result.schema, *result.limit(0).select(F.lit(0).alias("batch")).schema])
    return result.sparkSession.read.schema(schema).parquet(f"{out}/*")


def final(output: DataFrame, key: Sequence[str] | None = None) -> DataFrame:
    """What stands at the end: the last row of each key, or without a key the last batch."""
    window = Window.partitionBy(*(key or [])).orderBy(F.desc("batch"))
    last = output.withColumn("rank", F.rank().over(window)).where("rank = 1")
    return last.drop("rank", "batch")


def _record(row: tuple, struct: StructType) -> dict[str, Any]:
    record = {}
    for value, field in zip(row, struct, strict=True):
        if isinstance(field.dataType, StructType) and value is not None:
            value = _record(value, field.dataType)
        record[field.name] = value
    return record
