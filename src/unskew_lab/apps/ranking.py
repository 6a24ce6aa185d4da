"""Counts by key as an answer: the highest counts in a fixed order, and totals over all keys."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from unskew_lab.apps.contract import Answer

SHOWN = 100


def ranked(counts: DataFrame, *key: str, count: str) -> Answer:
    """The `SHOWN` highest counts, equal ones in the order of their keys, in one job."""
    totals = Observation("totals")
    watched = counts.observe(totals, F.count(F.lit(1)).alias("keys"), F.sum(count).alias("counted"))
    first = watched.orderBy(F.desc(count), *key).limit(SHOWN).collect()
    return Answer([row.asDict() for row in first], {"keys": 0, "counted": 0, **_numbers(totals)})


def same(answer: Answer, reference: Answer) -> bool:
    """Whether two rankings, with the totals that the reference has, are equal."""
    totals = {name: answer.figures.get(name) for name in reference.figures}
    return answer.rows == reference.rows and totals == reference.figures


def _numbers(totals: Observation) -> dict[str, Any]:
    return {name: value or 0 for name, value in totals.get.items()}
