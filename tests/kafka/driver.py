"""The driver that `run.py` kills: two streams from Kafka to Kafka and Parquet."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew

WORKERS = 8
ROWS_A_BATCH = 2000


def main(folder: Path, broker: str, jars: Path) -> None:
    """Run both streams until a file says that no more rows will come."""
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("unskew-kafka")
        .config("spark.jars", ",".join(str(each) for each in sorted(jars.glob("*.jar"))))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", str(WORKERS))
        .getOrCreate()
    )
    queries = [counting(spark, folder, broker), numbering(spark, folder, broker)]
    while not (folder / "over").exists():
        for each in queries:
            if not each.isActive:
                raise SystemExit(str(each.exception()))
        time.sleep(0.2)
    for each in queries:
        each.processAllAvailable()
        each.stop()
    spark.stop()


def source(spark: SparkSession, broker: str) -> DataFrame:
    """The topic's rows: a key, and an id as the value."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker)
        .option("subscribe", "rows")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", ROWS_A_BATCH)
        .load()
    )
    return records.selectExpr("cast(key as string) key", "cast(cast(value as string) as long) id")


def counting(spark: SparkSession, folder: Path, broker: str):  # type: ignore[no-untyped-def]
    """Mergeable work: how many rows each key has, its partial results merged by Spark's state."""

    def part(rows: pa.Table) -> pa.Table:
        return pa.table({"n": pa.array([rows.num_rows], pa.int64())})

    counts = unskew.streaming.groupBy(source(spark, broker), "key", workers=WORKERS).applyInArrow(
        part, "n bigint", merge=[F.sum("n").alias("n")]
    )

    def write(batch: DataFrame, number: int) -> None:
        deliver(batch, number, folder / "counts", broker, "counts")

    writer = counts.writeStream.outputMode("update").foreachBatch(write)
    return writer.option("checkpointLocation", str(folder / "counting")).start()


def numbering(spark: SparkSession, folder: Path, broker: str):  # type: ignore[no-untyped-def]
    """Work on whole keys: rows are numbered per key, through all batches."""

    def number(key, rows, state):  # type: ignore[no-untyped-def]
        done = state["n"] if state else 0
        # In the order of ids: a batch that comes again gives the same numbers.
        ids = sorted(rows["id"].to_pylist())
        numbered = [{"key": key, "id": each, "n": done + i + 1} for i, each in enumerate(ids)]
        return numbered, {"n": done + len(ids)}

    stream = unskew.streaming.stateful(
        source(spark, broker), "key", number, schema="key string, id long, n long",
        state_schema="n long", checkpoint=str(folder / "numbering"), workers=WORKERS, cost="rows",
    )  # fmt: skip

    def write(batch: DataFrame, number: int) -> None:
        deliver(batch, number, folder / "numbered", broker, "numbered")

    return stream.start(write)


def deliver(batch: DataFrame, number: int, folder: Path, broker: str, topic: str) -> None:
    """Write a batch to Kafka and to Parquet; if it comes again its folder is replaced."""
    kept = batch.persist()
    records = kept.selectExpr("key", "to_json(struct(*)) value")
    # One request at a time: records that a restarting broker refused must not be overtaken.
    writer = records.write.format("kafka").option("kafka.bootstrap.servers", broker)
    writer.option("kafka.max.in.flight.requests.per.connection", "1").option("topic", topic).save()
    kept.write.mode("overwrite").parquet(f"{folder}/batch={number}")
    kept.unpersist()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
