"""The rows of the jobs: generated or real keys, in Parquet files of a temporary folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from unskew.testing import skewed
from unskew_lab.benchmarks.regret.jobs import Job


@dataclass(frozen=True)
class Inputs:
    """What jobs read; jobs with the same rows share files."""

    session: SparkSession
    folder: Path

    def rows(self, job: Job) -> DataFrame:
        """`id` bigint, `key` string and `value` double, read from as many files as it says."""
        keys = job.stream.stem if job.stream else f"{job.keys}-{job.zipf}"
        path = self.folder / f"{keys}-{job.rows}-{job.partitions}"
        if not path.exists():
            rows = _generated(self.session, job) if job.keys else _real(self.session, job)
            rows.repartition(job.partitions).write.parquet(str(path))
        read = self.session.read.parquet(str(path))
        return read.withColumn("value", _costly(job.upstream)("value")) if job.upstream else read

    def table(self, job: Job) -> DataFrame:
        """The other side of a join: a title for every key."""
        path = self.folder / f"titles-{job.keys}-{job.zipf}-{job.rows}"
        if not path.exists():
            keys = self.rows(job).select("key").distinct()
            keys.withColumn("title", F.upper("key")).repartition(4).write.parquet(str(path))
        return self.session.read.parquet(str(path))


def _generated(session: SparkSession, job: Job) -> DataFrame:
    rows = skewed(session, job.rows // job.copies, job.keys, job.zipf)
    if job.copies == 1:
        return rows
    return rows.select("*", F.explode(F.array_repeat(F.lit(0), job.copies))).drop("col")


def _real(session: SparkSession, job: Job) -> DataFrame:
    keys = session.read.parquet(str(job.stream)).select(F.col("key").cast("string").alias("key"))
    numbered = keys.limit(job.rows).withColumn("id", F.monotonically_increasing_id())
    return numbered.select("id", "key", (F.pmod(F.xxhash64("id"), F.lit(1000)) / 8).alias("value"))


def _costly(seconds: float) -> Any:
    def through(values: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for each in values:
            time.sleep(len(each) * seconds)
            yield each

    udf: Any = pandas_udf
    return udf(through, "double")
