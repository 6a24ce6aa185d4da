"""Many cases in one Spark job: each is labelled, and all are compared at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew.testing import assert_same_result


def together(cases: Iterable[tuple[str, DataFrame]]) -> DataFrame:
    """The rows of all cases with the case's name in front; all have the same columns."""
    labelled = [rows.select(F.lit(name).alias("case"), "*") for name, rows in cases]
    return reduce(DataFrame.unionAll, labelled)


def assert_cases_agree(actual: dict[str, DataFrame], expected: dict[str, DataFrame]) -> None:
    """Every case has the rows that are expected of what its name starts with, up to a slash."""
    wanted = [(name, expected[name.split("/")[0]]) for name in actual]
    assert_same_result(together(actual.items()), together(wanted))
