"""Assertions on DataFrames: same rows, balanced partitions."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew.metrics import max_over_mean as _max_over_mean

_SHOWN = 5


def assert_same_result(actual: DataFrame, expected: DataFrame, *, digits: int = 12) -> None:
    """Assert that both have the same columns and the same rows, each as often, in any order.

    NaN equals NaN, and −0.0 equals 0.0.

    Parameters
    ----------
    actual, expected : DataFrame
        Small enough to be collected.
    digits : int
        Significant digits of doubles that are compared: parallel sums add up in any order.
    """
    if _columns(actual) != _columns(expected):
        raise AssertionError(
            f"the columns differ: {_columns(actual)} instead of {_columns(expected)}"
        )
    found, wanted = (
        Counter(_comparable(row, digits) for row in rows.collect()) for rows in (actual, expected)
    )
    if found != wanted:
        extra, missing = found - wanted, wanted - found
        raise AssertionError(
            f"{missing.total()} rows are missing and {extra.total()} are unexpected"
            f"{_some('missing', missing)}{_some('unexpected', extra)}"
        )


def assert_balanced(
    rows: DataFrame, max_over_mean: float = 1.1, *, workers: int | None = None
) -> None:
    """Assert that no partition has more than `max_over_mean` times the mean number of rows.

    Parameters
    ----------
    rows : DataFrame
        The rows on their partitions.
    max_over_mean : float
        The bound for the fullest partition, over the mean.
    workers : int, optional
        How many partitions there are, if the last of them may be empty: empty ones count.
    """
    counted = rows.groupBy(F.spark_partition_id()).count().collect()
    last = max((row[0] for row in counted), default=0)
    loads = np.zeros(max(last + 1, workers or 1), dtype=np.int64)
    for partition, count in counted:
        loads[partition] = count
    found = _max_over_mean(loads)
    if found > max_over_mean:
        raise AssertionError(
            f"max/mean is {found:.3f}, above {max_over_mean}: partition {loads.argmax()} has "
            f"{loads.max()} rows of {loads.sum()} on {loads.size} partitions"
        )


def _columns(rows: DataFrame) -> list[tuple[str, str]]:
    return list(rows.dtypes)


def _comparable(value: Any, digits: int) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return float(f"{value:.{digits}g}") + 0.0
    if isinstance(value, dict):
        return frozenset((_comparable(k, digits), _comparable(v, digits)) for k, v in value.items())
    if isinstance(value, tuple | list):
        return tuple(_comparable(each, digits) for each in value)
    return bytes(value) if isinstance(value, bytearray) else value


def _some(title: str, rows: Counter[Any]) -> str:
    if not rows:
        return ""
    lines = [f"\n  {row}" + (f" × {count}" if count > 1 else "") for row, count in rows.items()]
    more = f"\n  and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f"\n{title}:" + "".join(lines[:_SHOWN]) + more
