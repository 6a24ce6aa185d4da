"""How long a result took when it ran, from what Spark itself keeps of its queries."""

from __future__ import annotations

import re
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from unskew._spark.frames.files import is_connect

_OURS = re.compile(r"(?:In(?:Arrow|Pandas) .*\)|__unskew_\w+)(#\d+)")
"""Calls of functions and helper columns; Spark gives the number of each only once."""
_LATEST = 50
"""How many queries are looked at."""
_PATIENCE = 2.0
"""Seconds that Spark may take to note what has ended: it does so beside the query."""


def run_seconds(result: DataFrame) -> float | None:
    """From start to end of the first of the latest queries that ran it; None if there is none."""
    if is_connect(result):
        return None
    numbers = set(_OURS.findall(result._jdf.queryExecution().optimizedPlan().toString()))
    if not numbers:
        return None
    any_of = re.compile(f"(?:{'|'.join(numbers)})(?!\\d)")
    session: Any = result.sparkSession
    with suppress(Py4JJavaError):  # still busy: what it has noted so far must do
        session._jsparkSession.sparkContext().listenerBus().waitUntilEmpty(int(1000 * _PATIENCE))
    store = session._jsparkSession.sharedState().statusStore()
    count = store.executionsCount()
    queries = store.executionsList(max(count - _LATEST, 0), _LATEST)
    for place in range(queries.size()):
        query = queries.apply(place)
        if any_of.search(query.physicalPlanDescription()):
            return _seconds(store, query.executionId())
    return None


def _seconds(store: Any, query_id: int) -> float | None:
    """Of a query; Spark sums up its metrics before it notes the end."""
    until = monotonic() + _PATIENCE
    while True:
        query = store.execution(query_id).get()
        done = query.completionTime()
        if done.isDefined():
            return float(done.get().getTime() - query.submissionTime()) / 1000
        if monotonic() > until:
            return None
        sleep(0.02)
