"""The gain of spreading hot keys on Spark, beside the usual alternatives.

Work is emulated: each row costs 0.2 ms of sleep, so sixteen slots work side by side on any machine.
The baseline is the ideal: all work divided by the slots, plus what the same job takes when rows
cost nothing.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from unskew_lab.benchmarks.measuring import Measurement, best_of
from unskew_lab.session import new_session, spark_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOTS = 16
ROWS, KEYS, EXPONENT = 400_000, 2_000, 1.2
JOIN_ROWS, STREAM_ROWS = 200_000, 100_000
COST = 0.0002
REPEATS = 3
GAIN, PASS_THROUGH = 1.15, 1.05
IDEAL = "the ideal"
OURS = "unskew"

AQE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.skewJoin.enabled": "true",
    "spark.sql.adaptive.forceOptimizeSkewedJoin": "true",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.5",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "16k",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64k",
}
NO_AQE = {"spark.sql.adaptive.enabled": "false"}

Jobs = dict[str, tuple["Callable[[float], DataFrame]", dict[str, str]]]
"""Jobs as functions of the cost of a row, with the settings that each needs."""


def run(data: Path | None = None) -> Iterator[Measurement]:
    """Group functions on Zipf keys and on real streams, joins, and what is best left to Spark."""
    from unskew.testing import skewed

    session = new_session(SLOTS)
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows")
        skewed(session, ROWS, KEYS, EXPONENT).repartition(SLOTS).write.parquet(path)
        rows = session.read.parquet(path)
        yield from _group_rows(session, rows, "group function", ROWS)
        yield from _join_rows(session, rows)
        yield from _algebraic_rows(rows)
        for file in sorted(data.glob("*.parquet")) if data is not None else ():
            yield from _stream_rows(session, file)


def _stream_rows(session: SparkSession, file: Path) -> Iterator[Measurement]:
    """The group function on the first rows of a real stream."""
    from pyspark.sql import functions as F

    keys = session.read.parquet(str(file)).select(F.col("key").cast("string").alias("key"))
    numbered = keys.limit(STREAM_ROWS).withColumn("id", F.monotonically_increasing_id())
    rows = numbered.repartition(SLOTS).localCheckpoint()
    yield from _group_rows(session, rows, f"group function, {file.stem}", rows.count())


def _group_rows(
    session: SparkSession, rows: DataFrame, what: str, count: int
) -> Iterator[Measurement]:
    jobs: Jobs = {
        OURS: (partial(_planned, rows), NO_AQE),
        "plain groupBy.applyInArrow": (partial(_plain, rows), NO_AQE),
        "AQE with skew settings": (partial(_plain, rows), AQE),
        "salting by hand, 8": (partial(_salted, rows, 8), NO_AQE),
        "salting by hand, 64": (partial(_salted, rows, 64), NO_AQE),
        "400 small partitions": (partial(_many, rows), NO_AQE),
    }
    yield from _against_ideal(session, what, jobs, count)


def _join_rows(session: SparkSession, rows: DataFrame) -> Iterator[Measurement]:
    facts = rows.where(f"id < {JOIN_ROWS}")
    names = rows.select("key").distinct().withColumnRenamed("key", "name")
    table = names.selectExpr("name key", "upper(name) title").repartition(4).localCheckpoint()
    jobs: Jobs = {
        OURS: (partial(_planned_join, facts, table), NO_AQE),
        "plain join": (partial(_plain_join, facts, table), NO_AQE),
        "AQE with skew settings": (partial(_plain_join, facts, table), AQE),
        "salting by hand, 8": (partial(_salted_join, facts, table, 8), NO_AQE),
        "salting by hand, 64": (partial(_salted_join, facts, table, 64), NO_AQE),
    }
    yield from _against_ideal(session, "join", jobs, JOIN_ROWS)


def _against_ideal(
    session: SparkSession,
    what: str,
    jobs: Jobs,
    count: int,
) -> Iterator[Measurement]:
    """Ours as the best of several runs; the others, which take far longer, once."""
    ours, settings = jobs[OURS]
    with spark_settings(session, settings):
        _run(ours, 0.0, count)  # starts the Python workers
        fixed = best_of(REPEATS, partial(_run, ours, 0.0, count))
    ideal = count * COST / SLOTS + fixed
    yield Measurement(f"{what}: ideal, of it {fixed:.2f} s fixed cost", ideal, 1.0, "itself", None)
    for name, (job, settings) in jobs.items():
        with spark_settings(session, settings):
            repeats = REPEATS if name == OURS else 1
            seconds = best_of(repeats, partial(_run, job, COST, count))
        target = GAIN if name == OURS else None
        yield Measurement(f"{what}: {name}", seconds, seconds / ideal, IDEAL, target)


def _algebraic_rows(rows: DataFrame) -> Iterator[Measurement]:
    """Aggregates that Spark combines before its shuffle: unskew must stay out of the way."""
    from pyspark.sql import functions as F

    import unskew

    many = rows.crossJoin(rows.sparkSession.range(10).withColumnRenamed("id", "copy"))
    jobs = {
        "plain": lambda: many.groupBy("key").agg(F.count(F.lit(1)), F.sum("value")).collect(),
        "auto": lambda: (
            unskew.groupBy(many, "key").agg(unskew.count(), unskew.sum("value")).collect()
        ),
    }
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(REPEATS + 1):
        for name, job in jobs.items():
            times[name].append(best_of(1, job))
    plain_time, auto = (min(times[name][1:]) for name in ("plain", "auto"))
    ratio = auto / plain_time
    yield Measurement("count and sum: auto", auto, ratio, "Spark's groupBy.agg", PASS_THROUGH)


def _run(job: Callable[[float], DataFrame], cost: float, count: int) -> None:
    from pyspark.sql import functions as F

    [total] = job(cost).agg(F.sum("n")).collect()[0]
    assert total == count, f"{total} of {count} rows came out"


def _part(cost: float) -> Callable[[pa.Table], pa.Table]:
    def count(table: pa.Table) -> pa.Table:
        time.sleep(table.num_rows * cost)
        return pa.table({"n": pa.array([table.num_rows], pa.int64())})

    return count


def _added(table: pa.Table) -> pa.Table:
    return pa.table({"n": pa.array([pc.sum(table["n"]).as_py()], pa.int64())})


def _planned(rows: DataFrame, cost: float) -> DataFrame:
    import unskew

    return unskew.groupBy(rows, "key", workers=SLOTS).applyInArrow(
        _part(cost), "n bigint", merge=_added
    )


def _plain(rows: DataFrame, cost: float) -> DataFrame:
    return rows.groupBy("key").applyInArrow(_part(cost), "n bigint")


def _many(rows: DataFrame, cost: float) -> DataFrame:
    return rows.repartition(400, "key").groupBy("key").applyInArrow(_part(cost), "n bigint")


def _salted(rows: DataFrame, fan: int, cost: float) -> DataFrame:
    from pyspark.sql import functions as F

    def keyed(table: pa.Table) -> pa.Table:
        return _part(cost)(table).append_column("key", table["key"].slice(0, 1))

    salted = rows.withColumn("salt", F.pmod(F.xxhash64("id"), F.lit(fan)))
    parts = salted.groupBy("key", "salt").applyInArrow(keyed, "n bigint, key string")
    return parts.groupBy("key").agg(F.sum("n").alias("n"))


def _worked(joined: DataFrame, cost: float) -> DataFrame:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(batch.num_rows * cost)
            yield pa.record_batch({"n": pa.array([batch.num_rows], pa.int64())})

    return joined.mapInArrow(work, "n bigint")


def _planned_join(facts: DataFrame, table: DataFrame, cost: float) -> DataFrame:
    import unskew

    # Nothing but the caller knows what follows a join.
    return _worked(unskew.join(facts, table, "key", workers=SLOTS, seconds_per_row=cost), cost)


def _plain_join(facts: DataFrame, table: DataFrame, cost: float) -> DataFrame:
    return _worked(facts.join(table, "key"), cost)


def _salted_join(facts: DataFrame, table: DataFrame, fan: int, cost: float) -> DataFrame:
    from pyspark.sql import functions as F

    salted = facts.withColumn("salt", F.pmod(F.xxhash64("id"), F.lit(fan)))
    copies = table.withColumn(
        "salt", F.explode(F.sequence(F.lit(0).cast("bigint"), F.lit(fan - 1).cast("bigint")))
    )
    return _worked(salted.join(copies, ["key", "salt"]), cost)
