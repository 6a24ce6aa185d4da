"""DataFrames with skewed keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from unskew.checking import check_number, check_whole
from unskew.errors import ParameterError
from unskew.workloads import ZipfStream


def skewed(
    spark: SparkSession,
    rows: int,
    keys: int,
    exponent: float = 1.2,
    *,
    nulls: float = 0.0,
    seed: int = 42,
) -> DataFrame:
    """Zipf keys: `id` bigint, `key` string (`key-0` the hottest), `value` double.

    Parameters
    ----------
    spark : SparkSession
        The session.
    rows, keys : int
        How many rows, and how many keys they are drawn from.
    exponent : float
        0 is uniform and 2 is extreme.
    nulls : float
        Share of the rows that has no key.
    seed : int
        Another seed, other rows.

    Returns
    -------
    DataFrame
        The same rows for the same parameters.
    """
    drawn = list(ZipfStream(exponent, keys, rows, seed).ids())
    return _frame(spark, np.concatenate([np.empty(0, dtype=np.int64), *drawn]), nulls, seed)


def one_hot_key(
    spark: SparkSession,
    rows: int,
    keys: int,
    share: float = 0.5,
    *,
    nulls: float = 0.0,
    seed: int = 42,
) -> DataFrame:
    """The columns of `skewed`, with a `share` of the rows in `key-0` and the rest level."""
    _check_share("share", share)
    check_whole("rows", rows)
    check_whole("keys", keys)
    if rows < 0 or keys < 1:
        raise ParameterError(f"rows={rows} and keys={keys} must be at least 0 and 1")
    random = np.random.default_rng(seed)
    ids = random.integers(min(1, keys - 1), keys, rows)
    ids[random.random(rows) < share] = 0
    return _frame(spark, ids, nulls, seed)


def _frame(spark: SparkSession, ids: NDArray[np.int64], nulls: float, seed: int) -> DataFrame:
    _check_share("nulls", nulls)
    random = np.random.default_rng([seed, 1])
    missing = random.random(ids.size) < nulls
    keys = np.char.add("key-", ids.astype(str)) if ids.size else np.empty(0, dtype=str)
    columns = {
        "id": pa.array(np.arange(ids.size)),
        "key": pa.array(keys.tolist(), pa.string(), mask=missing),
        "value": pa.array(random.random(ids.size)),
    }
    # Spark Connect wants the schema of a table without rows.
    return spark.createDataFrame(pa.table(columns), "id bigint, key string, value double")


def _check_share(name: str, value: float) -> None:
    check_number(name, value)
    if not 0 <= value <= 1:
        raise ParameterError(f"{name}={value} is not in 0..1")
