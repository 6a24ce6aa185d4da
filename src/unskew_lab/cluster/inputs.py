"""Streams of Zipf keys for the cluster, from files or from Kafka, with eight sources."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.hashing import hash_keys
from unskew.kernels import KeyHashes
from unskew.workloads import ZipfStream
from unskew_lab.cluster.machines import SOURCES, WORKERS, Running
from unskew_lab.stream_files import write_stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST_KEY = 1 << 32
"""Keys of a draw begin at a multiple of this, so that each draw hashes other keys."""


@dataclass(frozen=True, slots=True)
class ZipfBatches:
    """`batches` micro-batches of Zipf keys: their name in tables, and what they are drawn from."""

    name: str
    exponent: float
    keys: int
    rows: int
    """Of one micro-batch."""
    batches: int
    seed: int = 42
    draw: int = 0

    def ids(self) -> Iterator[NDArray[np.int64]]:
        """The keys of each micro-batch."""
        stream = ZipfStream(self.exponent, self.keys, self.rows * self.batches, self.seed)
        drawn = np.concatenate(list(stream.ids())).astype(np.int64) + self.draw * FIRST_KEY
        yield from drawn.reshape(self.batches, self.rows)

    def hashes(self) -> Iterator[list[KeyHashes]]:
        """The key hashes of each micro-batch, for each source, as Spark hashes the keys."""
        for ids in self.ids():
            yield [hash_keys(pa.array(part)) for part in np.array_split(ids, SOURCES)]

    def read(self, up: Running) -> DataFrame:
        """The stream, a micro-batch at a time: `key` and `id`."""
        if up.broker is not None:
            return _from_kafka(up, self)
        folder = _written(up, self)
        reader = up.spark.readStream.schema("key bigint, id bigint")
        return reader.option("maxFilesPerTrigger", SOURCES).parquet(str(folder))


def _name(stream: ZipfBatches) -> str:
    return hashlib.sha256(repr(stream).encode()).hexdigest()[:12]


def _tables(stream: ZipfBatches) -> Iterator[tuple[int, pa.Table]]:
    """A table for each source of each micro-batch, with its number."""
    for batch, ids in enumerate(stream.ids()):
        first = batch * stream.rows + np.arange(stream.rows)
        for source in range(SOURCES):
            keys, rows = (np.array_split(each, SOURCES)[source] for each in (ids, first))
            yield batch * SOURCES + source, pa.table({"key": keys, "id": rows})


def _written(up: Running, stream: ZipfBatches) -> Path:
    """A file for each source of each micro-batch."""
    folder = up.folder / "streams" / _name(stream)
    if not folder.exists():
        folder.mkdir(parents=True)
        for number, table in _tables(stream):
            write_stream_file(table, folder, number)
    return folder


def _from_kafka(up: Running, stream: ZipfBatches) -> DataFrame:
    """The same rows from a topic with a partition for each source."""
    from pyspark.sql import functions as F

    assert up.broker is not None
    topic, mark = _name(stream), up.folder / "topics" / _name(stream)
    if not mark.exists():
        up.broker.create_topics(topic)
        written = _written(up, stream)
        rows = up.spark.read.parquet(str(written)).repartitionByRange(1, "id")
        records = rows.select(
            F.col("key").cast("string"),
            F.col("id").cast("string").alias("value"),
            (F.col("id") % SOURCES).cast("int").alias("partition"),
            F.lit(topic).alias("topic"),
        )
        kafka = records.write.format("kafka").option("kafka.bootstrap.servers", up.broker.address)
        kafka.save()
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
    options = {
        "kafka.bootstrap.servers": up.broker.address,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(stream.rows),
    }
    records = up.spark.readStream.format("kafka").options(**options).load()
    as_number = "cast(cast({} as string) as bigint) {}"
    return records.selectExpr(as_number.format("key", "key"), as_number.format("value", "id"))


def warm_up(up: Running) -> None:
    """Start a Python worker in every slot, once per cluster, and load what tasks will need.

    Else the first batches of each scheme pay for imports in those slots that were not used before.
    """
    mark = up.folder / "warm"
    if mark.exists():
        return

    def load(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        import numpy as np

        import unskew_lab.apps.aggregation_periods  # noqa: F401
        from unskew.partitioners import ConsistentGrouping, PartialKey, ShuffleGrouping

        for scheme in (ConsistentGrouping(2), PartialKey(2), ShuffleGrouping(2)):
            scheme.router().route(np.arange(4, dtype=np.uint64))
        for batch in batches:
            time.sleep(0.3)
            yield batch

    up.spark.range(0, WORKERS, 1, WORKERS).mapInArrow(load, "id bigint").collect()
    mark.touch()
