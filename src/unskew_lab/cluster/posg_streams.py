"""Streams of micro-batches whose rows differ in cost: POSG, round robin and plain Spark.

Rows arrive at exactly the rate that all slots can serve, as in the paper, and wait until their
batch is full; a batch starts when the one before has ended. Only the arrivals are virtual: batches
run on Spark. A row's completion time is from its arrival until the function is done with it. Costs
are slept, so they do not depend on how many cores there are; what rows really take, a little more
than their sleep, is measured first and sets the rate. What a job takes before its first and after
its last row is the same for a stream of any length and is a figure of its own.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from unskew.kernels.cost_pair import Floats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENTITIES = 2_000
BATCHES, SECONDS = 6, 2.0
"""How many batches, and the seconds of work for each slot in one."""
WARM = 2
"""Batches before those: the first starts Python workers and learns costs, the second routes."""
SCHEMA = "id long, begun double, done double"


def classes(entity: Floats) -> Floats:
    """The paper's application: 25, 5 or 1 ms, in a tenth, three tenths and the rest."""
    place = _scattered(entity)
    return np.where(place < 0.1, 0.025, np.where(place < 0.4, 0.005, 0.001))


def lognormal(entity: Floats) -> Floats:
    """Log-normal costs with a median of 1.5 ms and a mean of 4.6 ms, at most 0.2 s."""
    place = np.clip(_scattered(entity), 1e-6, 1 - 1e-6)
    # The logistic quantile, scaled, is within a few per cent of the normal one.
    normal = np.log(place / (1 - place)) / 1.702
    return np.minimum(0.0015 * np.exp(1.5 * normal), 0.2)


COSTS: dict[str, Callable[[Floats], Floats]] = {"25/5/1 ms": classes, "log-normal": lognormal}


def _scattered(entity: Floats) -> Floats:
    return np.modf(np.asarray(entity, dtype=np.float64) * 0.6180339887498949)[0]


RunBatch = Callable[[int, int], list[Any]]
"""Runs rows first..last-1; returns their ids and when each began and ended."""


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """One stream under one scheme, in seconds."""

    scheme: str
    mean: float
    makespan: float
    overhead: float
    """What a job takes besides the function's rows; the least of all batches."""


@dataclass(slots=True)
class BatchedStream:
    """Batches under one scheme, placed one after the other in virtual time."""

    scheme: str
    run: RunBatch
    gap: float
    """Seconds between two arrivals."""
    size: int
    """Rows of a batch."""
    free: float = 0.0
    """When the last batch ends."""
    times: list[Floats] = field(default_factory=list)
    overheads: list[float] = field(default_factory=list)

    def take(self, number: int) -> None:
        """Run a batch; the first few are not counted."""
        first = number * self.size
        started = time.time()
        rows = self.run(first, first + self.size)
        seconds = time.time() - started
        if number < WARM:
            return
        done = np.empty(self.size)
        done[[row["id"] - first for row in rows]] = [row["done"] for row in rows]
        began = min(row["begun"] for row in rows)
        lasted = float(done.max()) - began
        self.overheads.append(seconds - lasted)
        begins = max(self.free, (first + self.size) * self.gap)
        self.free = begins + lasted
        self.times.append(begins + done - began - np.arange(first, first + self.size) * self.gap)

    def result(self) -> StreamTimes:
        """The times of the whole stream."""
        began = (WARM + 1) * self.size * self.gap
        return StreamTimes(
            self.scheme, float(np.mean(self.times)), self.free - began, min(self.overheads)
        )


def completion_times(
    spark: SparkSession, slots: int, kind: str, batches: int = BATCHES
) -> list[StreamTimes]:
    """The same stream under each scheme: the verb, POSG, round robin, and left to Spark."""
    size = _size(kind, slots)
    gap = _measured_cost(spark, slots, kind) / slots
    streams = [BatchedStream(*each, gap, size) for each in _schemes(spark, slots, kind)]
    for number in range(batches + WARM):
        # All take turns, so that a slow minute hits all alike.
        for stream in streams:
            stream.take(number)
    return [stream.result() for stream in streams]


def batch_times(spark: SparkSession, slots: int, kind: str, batches: int) -> dict[str, list[float]]:
    """Seconds of each batch under POSG, which knows nothing at first, and under round robin."""
    size, found = _size(kind, slots), {}
    schemes = dict(_schemes(spark, slots, kind))
    for scheme in ("posg", "round robin"):
        seconds = []
        for first in range(0, batches * size, size):
            done = schemes[scheme](first, first + size)
            seconds.append(max(row["done"] for row in done) - min(row["begun"] for row in done))
        found[scheme] = seconds
    return found


def _measured_cost(spark: SparkSession, slots: int, kind: str) -> float:
    """The mean seconds of a row; a sleep takes a little longer than asked for."""
    rows = _batch(spark, 0, _size(kind, slots), slots).mapInArrow(_sleeper(kind), SCHEMA)
    rows.collect()  # Starts the Python workers, which would take time from the sleepers.
    return float(np.mean([row["done"] - row["begun"] for row in rows.collect()]))


def _schemes(spark: SparkSession, slots: int, kind: str) -> list[tuple[str, RunBatch]]:
    """The verb as it decides; always by cost; round robin; and left to Spark."""
    import unskew

    function = _sleeper(kind)
    # Only its columns count: batches are handed over one by one.
    stream = spark.readStream.format("rate").load().selectExpr("value id", "value entity")

    def by_verb(scheme: Literal["auto", "posg"]) -> RunBatch:
        # These batches are no query's, which would have a checkpoint.
        learned = tempfile.mkdtemp() if scheme == "auto" else None
        mapped = unskew.mapInArrow(
            stream,
            function,
            SCHEMA,
            cost_key="entity",
            workers=slots,
            scheme=scheme,
            learned=learned,
        )
        assert isinstance(mapped, unskew.streaming.MappedStream)

        def batch(first: int, last: int) -> list[Any]:
            found: list[Any] = []
            rows = _batch(spark, first, last, slots)
            mapped.process(rows, first, lambda result, _: found.extend(result.collect()))
            return found

        return batch

    def round_robin(first: int, last: int) -> list[Any]:
        rows = _batch(spark, first, last, slots)
        dealt = unskew.repartition(rows, "entity", slots, scheme="sg", need="any-row")
        return dealt.mapInArrow(function, SCHEMA).collect()

    def plain(tasks: int) -> RunBatch:
        return lambda first, last: (
            _batch(spark, first, last, tasks).mapInArrow(function, SCHEMA).collect()
        )

    left = [(f"plain, {times} x slots", plain(times * slots)) for times in (1, 4, 16)]
    ours = [("which decides", by_verb("auto")), ("posg", by_verb("posg"))]
    return [*ours, ("round robin", round_robin), *left]


def _size(kind: str, slots: int) -> int:
    return int(SECONDS * slots / _mean_cost(kind))


def _batch(spark: SparkSession, first: int, last: int, parts: int) -> DataFrame:
    """Rows first..last-1, each with an entity: ranks drawn log-uniformly, nearly Zipf 1."""
    from pyspark.sql import functions as F

    drawn = (F.pmod(F.xxhash64("id"), F.lit(1 << 20)) + 0.5) / (1 << 20)
    rank = F.floor(F.exp(drawn * math.log(ENTITIES + 1))) - 1
    return spark.range(first, last, 1, parts).withColumn("entity", rank)


def _mean_cost(kind: str) -> float:
    drawn = (np.arange(1 << 16) + 0.5) / (1 << 16)
    ranks = np.floor(np.exp(drawn * math.log(ENTITIES + 1))) - 1
    return float(COSTS[kind](ranks).mean())


def _sleeper(kind: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    cost_of = COSTS[kind]

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            clock = [time.time()]
            for cost in cost_of(batch.column("entity").to_numpy()).tolist():
                time.sleep(cost)
                clock.append(time.time())
            begun, done = (pa.array(each, pa.float64()) for each in (clock[:-1], clock[1:]))
            columns = [batch.column("id"), begun, done]
            yield pa.RecordBatch.from_arrays(columns, ["id", "begun", "done"])

    return work
