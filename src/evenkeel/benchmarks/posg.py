"""Scheduling by cost on Spark against round robin and against plain Spark, as a stream goes on.

Rows arrive at a steady rate; whatever has arrived when a batch ends is the next batch. A row's
completion time is from its arrival until the function is done with it. Costs are slept, so they do
not depend on how many cores there are.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkeel.benchmarks.measuring import Row
from evenkeel.kernels.cost_pair import Floats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from evenkeel.spark.scheduling import Work

SLOTS = (2, 5, 10)
ENTITIES = 2_000
SECONDS = 12.0
"""How long rows keep arriving."""
LOAD = 0.8
"""The work that arrives, as a share of what all slots can do."""
SCHEMA = "id long, done double"

OVER_ROUND_ROBIN = 1 / 1.25
OVER_THE_BEST = 1 / 0.97


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


@dataclass(frozen=True, slots=True)
class Outcome:
    """One stream under one scheme."""

    scheme: str
    mean: float
    makespan: float


def run() -> list[Row]:
    """Both kinds of costs on 2, 5 and 10 slots."""
    rows: list[Row] = []
    gains: list[float] = []
    for slots in SLOTS:
        spark = _session(slots)
        try:
            for kind in COSTS:
                outcomes = {each.scheme: each for each in _compare(spark, slots, kind)}
                rows += _rows(f"{kind}, {slots} slots", outcomes)
                gains.append(outcomes["posg"].mean / outcomes["round robin"].mean)
        finally:
            spark.stop()
    mean = float(np.mean(gains))
    name = "posg, completion time, mean of all"
    return [*rows, Row(name, 0.0, mean, "round robin", OVER_ROUND_ROBIN)]


def _rows(what: str, outcomes: dict[str, Outcome]) -> list[Row]:
    posg = outcomes.pop("posg")
    rows = [
        Row(f"posg {measure}, {what}", mine, mine / theirs, other.scheme, None)
        for other in outcomes.values()
        for measure, mine, theirs in (
            ("completion time", posg.mean, other.mean),
            ("makespan", posg.makespan, other.makespan),
        )
    ]
    best = min(outcomes.values(), key=lambda each: each.mean)
    name = f"posg completion time, {what}, best other"
    return [*rows, Row(name, posg.mean, posg.mean / best.mean, best.scheme, OVER_THE_BEST)]


def _compare(spark: SparkSession, slots: int, kind: str) -> Iterator[Outcome]:
    from evenkeel.spark.mapped_stream import MappedStream
    from evenkeel.spark.scheduling import Work

    work = Work.of(_batch(spark, 0, 1, 1), _sleeper(kind), SCHEMA, "arrow", "entity", slots)
    posg = MappedStream(_batch(spark, 0, 1, 1), work, None, lambda sentence: None)

    def by_cost(first: int, last: int) -> list[Any]:
        found: list[Any] = []
        batch = _batch(spark, first, last, slots)
        posg.process(batch, 0, lambda result, number: found.extend(result.collect()))
        return found

    def in_turn(first: int, last: int) -> list[Any]:
        batch = _batch(spark, first, last, slots)
        return work.dealt(batch, work.in_turn(batch)).collect()

    by_cost(0, 40 * slots)  # starts the Python workers, and learns
    yield _stream("posg", kind, slots, by_cost)
    in_turn(0, 40)
    yield _stream("round robin", kind, slots, in_turn)
    for times in (1, 4, 16):
        yield _stream(f"plain, {times} x slots", kind, slots, _plain(spark, work, times * slots))


def _plain(spark: SparkSession, work: Work, parts: int) -> Callable[[int, int], list[Any]]:
    return lambda first, last: work.alone(_batch(spark, first, last, parts)).collect()


def _stream(
    scheme: str, kind: str, slots: int, run_batch: Callable[[int, int], list[Any]]
) -> Outcome:
    """Let rows arrive, batch after batch, until all are done."""
    rate = LOAD * slots / _mean_cost(kind)
    rows = int(SECONDS * rate)
    done = np.empty(rows)
    began, first = time.time(), 0
    while first < rows:
        last = min(rows, max(first + slots, int((time.time() - began) * rate)))
        for row in run_batch(first, last):
            done[row["id"]] = row["done"] - began
        first = last
    times = done - np.arange(rows) / rate
    return Outcome(scheme, float(times.mean()), float(done.max()))


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
            done = []
            for cost in cost_of(batch.column("entity").to_numpy()).tolist():
                time.sleep(cost)
                done.append(time.time())
            yield pa.RecordBatch.from_arrays(
                [batch.column("id"), pa.array(done, pa.float64())], ["id", "done"]
            )

    return work


def _session(slots: int) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.master": f"local[{slots}]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.appName("evenkeel-bench").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
