"""The ways that people write themselves, in plain PySpark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from unskew_lab.benchmarks.regret.figures import AQE, PLAIN, SALTED_8, SALTED_64
from unskew_lab.benchmarks.regret.jobs import SLOTS, Job
from unskew_lab.benchmarks.regret.work import (
    SCHEMA,
    combined_in_place,
    each_row,
    highest_in_pandas,
    merge_of,
    part_of,
)
from unskew_lab.benchmarks.spark_gain import AQE as AQE_SETTINGS

# Adaptive execution would put the small rows of a costly function into one task again.
APART = {"spark.sql.adaptive.coalescePartitions.enabled": "false"}
FANS = {SALTED_8: 8, SALTED_64: 64}
IN_PLACE = "in place, by hand"


@dataclass(frozen=True)
class ByHand:
    """What makes the result, and the settings that it runs with."""

    make: Callable[[], DataFrame]
    settings: Mapping[str, str] = field(default_factory=dict)


def ways_by_hand(job: Job, rows: DataFrame, table: DataFrame | None) -> dict[str, ByHand]:
    """Every way that is right for the job, plain Spark first."""
    if table is not None:
        return _joins(job, rows, table)
    grouped = _aggregated if job.kind == "aggregate" else _applied
    ways = {PLAIN: ByHand(partial(grouped, job, rows))}
    for times in (4, 16):
        placed = rows.repartition(times * SLOTS, "key")
        ways[f"repartition, {times} x"] = ByHand(partial(grouped, job, placed))
    if job.kind == "whole-key":
        return ways
    for name, fan in FANS.items():
        ways[name] = ByHand(partial(_salted, job, rows, fan), APART)
    if job.kind == "mergeable" or job.cost:
        ways[IN_PLACE] = ByHand(partial(_in_place, job, rows), APART)
    return ways


def joined(job: Job, pairs: DataFrame) -> DataFrame:
    """The rows of a join after their work, as a count and a sum of hashes."""
    worked = pairs.mapInArrow(each_row(job), pairs.schema) if job.cost else pairs
    content = F.pmod(F.xxhash64(*sorted(worked.columns)), F.lit(1_000_003))
    return worked.agg(F.count(F.lit(1)).alias("n"), F.sum(content).alias("content"))


def _joins(job: Job, rows: DataFrame, table: DataFrame) -> dict[str, ByHand]:
    def plain() -> DataFrame:
        return joined(job, rows.join(table, "key"))

    salted = {
        name: ByHand(partial(_salted_join, job, rows, table, fan), APART)
        for name, fan in FANS.items()
    }
    return {PLAIN: ByHand(plain), AQE: ByHand(plain, AQE_SETTINGS), **salted}


def _salt(fan: int) -> Column:
    return F.pmod(F.xxhash64("id"), F.lit(fan)).alias("salt")


def _salted_join(job: Job, rows: DataFrame, table: DataFrame, fan: int) -> DataFrame:
    every = F.sequence(F.lit(0).cast("bigint"), F.lit(fan - 1).cast("bigint"))
    copies = table.select("*", F.explode(every).alias("salt"))
    return joined(job, rows.select("*", _salt(fan)).join(copies, ["key", "salt"]).drop("salt"))


def _applied(job: Job, rows: DataFrame) -> DataFrame:
    found: DataFrame = getattr(rows.groupBy("key"), job.verb)(part_of(job), SCHEMA)
    return found


def _merged(job: Job, parts: DataFrame) -> DataFrame:
    found: DataFrame = getattr(parts.groupBy("key"), job.verb)(merge_of(job), SCHEMA)
    return found


def _salted(job: Job, rows: DataFrame, fan: int) -> DataFrame:
    salted = rows.select("*", _salt(fan))
    if job.kind == "aggregate":
        return _aggregates_merged(job, salted.groupBy("key", "salt").agg(*_aggregates(job)))
    parts = getattr(salted.groupBy("key", "salt"), job.verb)(part_of(job), SCHEMA)
    return _merged(job, parts)


def _in_place(job: Job, rows: DataFrame) -> DataFrame:
    parts = rows.mapInArrow(combined_in_place(job), SCHEMA)
    return _aggregates_merged(job, parts) if job.kind == "aggregate" else _merged(job, parts)


def _aggregates(job: Job) -> list[Column]:
    if not job.cost:
        return [F.count(F.lit(1)).alias("n"), F.max("value").alias("highest")]
    udf: Any = pandas_udf
    return [udf(highest_in_pandas(job), "double")("value").alias("highest")]


def _aggregated(job: Job, rows: DataFrame) -> DataFrame:
    return rows.groupBy("key").agg(*_aggregates(job))


def _aggregates_merged(job: Job, parts: DataFrame) -> DataFrame:
    n = [] if job.cost else [F.sum("n").alias("n")]
    return parts.groupBy("key").agg(*n, F.max("highest").alias("highest"))
