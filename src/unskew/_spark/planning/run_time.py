"""How long a result took when it ran, from what Spark itself keeps of its queries."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.frames.files import is_connect

_OURS = re.compile(r"(?:In(?:Arrow|Pandas) .*\)|__unskew_\w+)(#\d+)")
"""Calls of functions and helper columns; Spark gives the number of each only once."""
_LATEST = 50
"""How many queries are looked at."""


def run_seconds(result: DataFrame) -> float | None:
    """From start to end of the first of the latest queries that ran it; None if there is none."""
    if is_connect(result):
        return None
    numbers = set(_OURS.findall(result._jdf.queryExecution().optimizedPlan().toString()))
    if not numbers:
        return None
    any_of = re.compile(f"(?:{'|'.join(numbers)})(?!\\d)")
    session: Any = result.sparkSession
    store = session._jsparkSession.sharedState().statusStore()
    count = store.executionsCount()
    queries = store.executionsList(max(count - _LATEST, 0), _LATEST)
    for place in range(queries.size()):
        query = queries.apply(place)
        done = query.completionTime()
        if done.isDefined() and any_of.search(query.physicalPlanDescription()):
            return float(done.get().getTime() - query.submissionTime()) / 1000
    return None
