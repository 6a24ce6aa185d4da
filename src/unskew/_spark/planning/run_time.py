"""How long a result took when it ran, from what Spark itself keeps of its queries.

What Spark runs by itself bears no mark by which its queries could be found: hints and names of
frames do not reach the plan that Spark keeps, and anything that does would change it. Then a query
is known by new columns of the result, or by being the result's own: that of `collect` is, that of a
write is not.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from unskew._spark.frames.files import is_connect

_OURS = re.compile(r"(?:In(?:Arrow|Pandas) .*\)|__unskew_\w+)(#\d+)")
"""Calls of functions and helper columns; Spark gives the number of each only once."""
_LATEST = 50
"""How many queries are looked at."""
_PATIENCE = 2.0
"""Seconds that Spark may take to note what has ended: it does so beside the query."""


def last_number(session: SparkSession) -> int | None:
    """A number that no column has: those that are made from now on have higher ones."""
    if is_connect(session):
        return None
    java: Any = session._jvm
    return int(java.org.apache.spark.sql.catalyst.expressions.NamedExpression.newExprId().id())


def took(result: DataFrame, since: int | None = None) -> str | None:
    """A line with the seconds of the first of the latest queries that ran it; None if none has.

    Columns of the result with numbers above `since` are its own.
    """
    if is_connect(result):
        return None
    marks = _Marks.of(result, since)
    seconds = _run_seconds(result.sparkSession, marks)
    if seconds is not None:
        return f"took      {seconds:.2f} s when it ran"
    if marks.numbers:
        return None
    but = ", unless the result itself is collected" if marks.own else ""
    return f"took      not known of what Spark runs by itself{but}"


@dataclass(frozen=True, slots=True)
class _Marks:
    """By what the queries that run a result are known."""

    numbers: frozenset[str]
    """Of calls and columns, which no other result has."""
    own: str | None
    """The id of the result's own query."""

    @classmethod
    def of(cls, result: DataFrame, since: int | None) -> _Marks:
        query: Any = result._jdf.queryExecution()
        numbers = set(_OURS.findall(query.optimizedPlan().toString()))
        if since is not None:
            columns = query.analyzed().output()
            ids = [columns.apply(place).exprId().id() for place in range(columns.size())]
            numbers.update(f"#{each}" for each in ids if each > since)
        return cls(frozenset(numbers), _id_of(query))

    def are_of(self, query: Any) -> bool:
        """Whether a query ran the result."""
        if self.own is not None and _id_of(query) == self.own:
            return True
        any_of = f"(?:{'|'.join(self.numbers)})(?!\\d)"
        return bool(self.numbers and re.search(any_of, query.physicalPlanDescription()))


def _id_of(query: Any) -> str | None:
    """Of a query that is to run, or that has run; None in a Spark that gives none."""
    try:
        return str(query.queryId().toString())
    except Py4JError:
        return None


def _run_seconds(session: Any, marks: _Marks) -> float | None:
    with suppress(Py4JJavaError):  # still busy: what it has noted so far must do
        session._jsparkSession.sparkContext().listenerBus().waitUntilEmpty(int(1000 * _PATIENCE))
    store = session._jsparkSession.sharedState().statusStore()
    count = store.executionsCount()
    queries = store.executionsList(max(count - _LATEST, 0), _LATEST)
    for place in range(queries.size()):
        query = queries.apply(place)
        if marks.are_of(query):
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
