"""The physical plan of a DataFrame, and what it says about running a task again.

A route that depends on the order of rows repeats itself only on a replayable scan. Behind a
shuffle rows come back in another order, some would arrive twice and others never; Spark's
order-independent checksums notice that and run the whole stage again.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from unskew.errors import RetryError

CHECKSUMS = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
# Operators that merge the rows of several tasks, or draw rows again.
_REORDERING = re.compile(r"\b(\w*Exchange|Coalesce|Sample|\w*Union)\b")
# Plans that give the same rows whenever they run: scans and plain expressions.
_SCANS = re.compile(r"^(\*\(\d+\) )?(FileScan|Scan|Range|LocalTableScan|BatchScan|InMemory|Table)")
_PLAIN = re.compile(r"^(\*\(\d+\) )?(Project|Filter|ColumnarToRow|InputAdapter|WholeStageCodegen)")
_RANDOM = re.compile(r"\b(rand|randn|uuid|shuffle|random|monotonically_increasing_id)\(|UDF|Python")


def physical_plan(rows: DataFrame) -> str:
    """The physical plan as text."""
    on_server = getattr(type(rows), "_explain_string", None)  # Spark Connect has it
    if on_server is not None:
        return str(on_server(rows))
    # What `explain` prints: redirecting its output would mix up the plans of two threads.
    # Not the query's own simpleString, which fails for a stream.
    session: Any = rows.sparkSession
    return str(session._jvm.PythonSQLUtils.explainString(rows._jdf.queryExecution(), "simple"))


def is_replayable(rows: DataFrame) -> bool:
    """Whether every task reads its rows in the same order each time it runs."""
    return not _REORDERING.search(physical_plan(rows))


def gives_the_same_rows(rows: DataFrame) -> bool:
    """Whether the plan is a scan with plain expressions, which can be run twice."""
    lines = [line.lstrip(" +-:") for line in physical_plan(rows).splitlines()[1:] if line.strip()]
    return all(_SCANS.match(line) or _PLAIN.match(line) for line in lines) and not any(
        _RANDOM.search(line) for line in lines
    )


def check_order_may_matter(rows: DataFrame, scheme: str) -> None:
    """Raise if a route depends on the order of rows and a retry could change that order."""
    if checksums_are_on(rows) or is_replayable(rows):
        return
    raise RetryError(
        f"{scheme} routes rows in the order of their arrival, and these rows come out of a "
        f"shuffle: a task that runs again would send them elsewhere. Set {CHECKSUMS[0]} and "
        f"{CHECKSUMS[1]} to true, route right after reading, or use a scheme that is a function "
        "of the row (kg, ring, routing-table, or planned-split with lowering='native')"
    )


def checksums_are_on(rows: DataFrame) -> bool:
    """Whether Spark itself repeats a stage whose output changed."""
    return all(is_true(rows, name) for name in CHECKSUMS)


def is_true(rows: DataFrame, name: str) -> bool:
    """Whether a setting of the session is true; False for a setting that this Spark lacks."""
    try:
        # A default given here would win over Spark's own.
        return str(rows.sparkSession.conf.get(name)).lower() == "true"
    except PySparkException:
        return False
