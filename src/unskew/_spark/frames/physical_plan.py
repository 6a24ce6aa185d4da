"""When a task runs again, does each row go where it went before?

A route that depends on the order of rows repeats itself only on a replayable scan. Behind a
shuffle rows come back in another order, some would arrive twice and others never; Spark's
order-independent checksums notice that and run the whole stage again.
"""

from __future__ import annotations

import contextlib
import io
import re

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from unskew.errors import RetryError

CHECKSUMS = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
# Operators that bring rows together from several tasks, or draw them anew.
_REORDERING = re.compile(r"\b(\w*Exchange|Coalesce|Sample|\w*Union|.*StreamingRelation)\b")


def check_order_may_matter(rows: DataFrame, scheme: str) -> None:
    """Refuse a route that depends on the order of rows where a retry could change the order."""
    if rows.isStreaming or checksums_are_on(rows) or is_replayable(rows):
        return
    raise RetryError(
        f"{scheme} routes rows in the order in which they come, and these rows come out of a "
        f"shuffle: a task that runs again would send them elsewhere. Set {CHECKSUMS[0]} and "
        f"{CHECKSUMS[1]} to true, route right after reading, or take a scheme that is a function "
        "of the row (kg, ring, routing-table, or planned-split with lowering='native')"
    )


def checksums_are_on(rows: DataFrame) -> bool:
    """Whether Spark itself repeats a stage whose output changed."""
    return all(is_true(rows, name) for name in CHECKSUMS)


def is_true(rows: DataFrame, name: str) -> bool:
    """Whether a setting of the session is true; one that this Spark does not know is not."""
    try:
        # A default given here would win over Spark's own.
        return str(rows.sparkSession.conf.get(name)).lower() == "true"
    except PySparkException:
        return False


def is_replayable(rows: DataFrame) -> bool:
    """Whether every task reads its rows in the same order each time it runs."""
    return not _REORDERING.search(physical_plan(rows))


def physical_plan(rows: DataFrame) -> str:
    """The physical plan as text; `explain` is the one way that Connect has too."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        rows.explain()
    return text.getvalue()
