"""Counts by key on a stream whose workers send their counters on once in several micro-batches.

    micro-batch ──(key: scheme)──> workers: counters, kept ──every few batches──> aggregator: totals

This is the aggregation period T of the paper on partial key grouping (its fifth question), apart
from the micro-batch. A longer period keeps more counters on the workers; as a key that occurs in
several batches is sent once, fewer messages go to the aggregator.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

import unskew
from unskew.errors import ParameterError
from unskew.hashing import hash_keys
from unskew.partitioners import RoutingTable
from unskew.streaming import BatchProgress
from unskew_lab.apps.contract import Answer, Figure, Scheme
from unskew_lab.apps.replaying import Replay

WORKER, COUNT = "worker", "n"

Counting = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How often each worker and key occurs in rows of these two columns."""
    found = [_counts(pa.Table.from_batches([batch]), ([], "count_all")) for batch in batches]
    if found:
        yield from _counts(pa.concat_tables(found), (COUNT, "sum")).to_batches()


def _counts(rows: pa.Table, how: tuple[str | list[str], str]) -> pa.Table:
    key = rows.column_names[:2]
    return rows.group_by(key).aggregate([how]).rename_columns([*key, COUNT])


@dataclass
class PeriodicCounts:
    """The workers' counters, a folder for each micro-batch, and the totals after each period.

    The counters of a period are brought together by worker and key, which is what the workers hold
    when it ends, and sent: one message for each. A batch that Spark repeats replaces itself.
    """

    key: StructField
    plan: unskew.Plan
    folder: str
    period: int
    """In micro-batches."""
    work: Counting = counted
    """What a worker does with its rows."""
    sent: dict[int, int] = field(default_factory=dict)
    """Messages to the aggregator, by period."""
    records: dict[int, BatchProgress] = field(default_factory=dict)
    """By micro-batch."""

    def __post_init__(self) -> None:
        if self.period < 1:
            raise ParameterError(f"period={self.period} is not at least 1 micro-batch")

    def routed(self, rows: DataFrame) -> DataFrame:
        """The key and the worker of each row: what `process` gets.

        The rows of a stream are routed as they come; inside of a batch a router that learns would
        have them sorted first, so that it repeats itself.
        """
        return self.plan.with_worker(rows.select(self.key.name), WORKER)

    def process(self, batch: DataFrame, number: int) -> None:
        """Count a micro-batch on the workers; if it ends a period, send what they hold."""
        started = time.perf_counter()
        workers = np.arange(self.plan.workers, dtype=np.int32)
        places = RoutingTable(self.plan.workers, hash_keys(pa.array(workers)), workers)
        placed = unskew.repartition(batch, WORKER, scheme=places)
        counters = placed.select(WORKER, self.key.name).mapInArrow(self.work, self._schema)
        counters.write.mode("overwrite").parquet(self._kept(number))
        if (number + 1) % self.period == 0:
            self._send(batch.sparkSession, number)
        times = {"seconds": time.perf_counter() - started, "ended": round(time.time(), 3)}
        self.records[number] = self._record(batch.sparkSession, number, times)

    def finish(self, spark: SparkSession) -> None:
        """Send what the workers still hold at the end of the stream."""
        last = max(self.records, default=-1)
        if last >= 0 and last // self.period not in self.sent:
            self._send(spark, last)

    def totals(self, spark: SparkSession, period: int | None = None) -> DataFrame:
        """The key and its count `n`, as the aggregator has it after a period, or the last one."""
        wanted = max(self.sent, default=-1) if period is None else period
        schema = StructType([self.key, StructField(COUNT, LongType())])
        if wanted < 0:
            return spark.createDataFrame([], schema)
        return spark.read.schema(schema).parquet(f"{self.folder}/totals/{wanted}")

    @property
    def figures(self) -> Mapping[str, Figure]:
        """How much was sent and held."""
        return {
            "aggregation periods": len(self.sent),
            "messages to the aggregator": sum(self.sent.values()),
            "counters held at most": max(self.sent.values(), default=0),
        }

    def _send(self, spark: SparkSession, last: int) -> None:
        """Add what the workers hold after the batch `last` to the totals of the period before."""
        now = last // self.period
        paths = [self._kept(number) for number in range(now * self.period, last + 1)]
        kept = spark.read.schema(self._schema).parquet(*paths)
        held = kept.groupBy(WORKER, self.key.name).agg(F.sum(COUNT).alias(COUNT))
        sent = f"{self.folder}/sent/{now}"
        held.write.mode("overwrite").parquet(sent)
        messages = spark.read.schema(self._schema).parquet(sent)
        both = self.totals(spark, now - 1).unionByName(messages.drop(WORKER))
        totals = both.groupBy(self.key.name).agg(F.sum(COUNT).alias(COUNT))
        totals.write.mode("overwrite").parquet(f"{self.folder}/totals/{now}")
        self.sent[now] = messages.count()

    def _record(
        self, spark: SparkSession, number: int, times: Mapping[str, float]
    ) -> BatchProgress:
        kept = spark.read.schema(self._schema).parquet(self._kept(number)).groupBy(WORKER)
        loads = np.zeros(self.plan.workers)
        pairs = 0
        for row in kept.agg(F.sum(COUNT).alias("rows"), F.count("*").alias("pairs")).collect():
            loads[row[WORKER]], pairs = row["rows"], pairs + row["pairs"]
        return BatchProgress.of(number, loads.tolist(), replicas=pairs, **times)

    def _kept(self, number: int) -> str:
        return f"{self.folder}/kept/{number}"

    @property
    def _schema(self) -> StructType:
        worker, count = StructField(WORKER, IntegerType()), StructField(COUNT, LongType())
        return StructType([worker, self.key, count])


def answer_by_periods(
    rows: Replay,
    stream: DataFrame,
    key: str,
    scheme: Scheme,
    workers: int,
    answer: Callable[[DataFrame], Answer],
) -> Answer:
    """Run a stream to its end, and apply `answer` to the last totals, of key and `n`."""
    plan = (
        scheme
        if isinstance(scheme, unskew.Plan)
        else unskew.plan(rows.rows, key, workers, need="mergeable", scheme=scheme)
    )
    counts = PeriodicCounts(rows.rows.schema[key], plan, rows.scratch(), rows.period)
    writer = counts.routed(stream).writeStream.foreachBatch(counts.process)
    writer = writer.trigger(availableNow=True)
    writer.option("checkpointLocation", f"{counts.folder}/checkpoint").start().awaitTermination()
    counts.finish(stream.sparkSession)
    found = answer(counts.totals(stream.sparkSession))
    records = [record for _, record in sorted(counts.records.items())]
    return replace(found, figures={**found.figures, **counts.figures}, batches=records)
