"""The physical plan of a DataFrame, and what it says about running a task again.

A route that depends on the order of rows repeats itself only where a task reads its rows in the
same order again. A scan of files does; behind a shuffle rows come back in another order, and some
would arrive twice and others never. There the rows of each task are put in an order of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.files import is_connect
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import column, content_hash, told_apart
from unskew.errors import RetryError

CHECKSUMS = (
    "spark.sql.shuffle.orderIndependentChecksum.enabled",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch",
)
# Operators that merge the rows of several tasks, or draw rows again.
_REORDERING = re.compile(r"\b(\w*Exchange|Coalesce|Sample|\w*Union)\b")
# How the line of an operator begins, but for the first one.
_CHILD = re.compile(r"[ :]*[+:]- ")
# Operators that keep the order of rows, and scans that repeat it. A source that is not known here
# (an RDD, a data source in Python) may give another order each time.
_IN_ORDER = re.compile(
    r"^(\*\(\d+\) )?(FileScan|BatchScan parquet|BatchScan orc|Range|LocalTableScan|InMemory|Project"
    r"|Filter|ColumnarToRow|InputAdapter|WholeStageCodegen)"
)

# It makes several rows of one, in the order of the array.
_EXPLODING = re.compile(r"^(\*\(\d+\) )?Generate (pos)?explode\(")


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
    lines = (line.lstrip(" +-:") for line in _operators(rows))
    return all(_IN_ORDER.match(line) or _EXPLODING.match(line) for line in lines)


def _operators(rows: DataFrame) -> list[str]:
    """The line of each operator; names and texts in a plan may have lines of their own."""
    first, *others = physical_plan(rows).splitlines()[1:]
    return [first, *filter(_CHILD.match, others)]


def is_read_only(rows: DataFrame) -> bool:
    """Whether rows come from files or memory, only filtered and projected on the way."""
    stored = _stored(rows)
    depth: int | None = None  # Of stored rows: what they were made of does not run again.
    for line in _operators(rows):
        words = line.lstrip(" +-:")
        if words.startswith("AdaptiveSparkPlan") or (
            depth is not None and len(line) - len(words) > depth
        ):
            continue
        depth = len(line) - len(words) if stored.match(words) else None
        if depth is None and not _IN_ORDER.match(words):
            return False
    return True


_CACHE = r"InMemoryTableScan"
_RDD = r"(\*\(\d+\) )?Scan ExistingRDD"
_NOTHING = r"(?!)"


def _stored(rows: DataFrame) -> re.Pattern[str]:
    """The scans of which all read what is there; a cache that nobody has filled is not."""
    if is_connect(rows):
        return re.compile(_CACHE)
    leaves = rows._jdf.queryExecution().optimizedPlan().collectLeaves()
    each: list[Any] = [leaves.apply(place) for place in range(leaves.length())]
    caches = _named(each, "InMemoryRelation")
    filled = all(leaf.cacheBuilder().isCachedColumnBuffersLoaded() for leaf in caches)
    rdds = [leaf.rdd() for leaf in _named(each, "LogicalRDD")]
    kept = all(rdd.isCheckpointed() or rdd.getStorageLevel().isValid() for rdd in rdds)
    names = [_CACHE] * (bool(caches) and filled) + [_RDD] * (bool(rdds) and kept)
    return re.compile("|".join(names) or _NOTHING)


def _named(leaves: Sequence[Any], name: str) -> list[Any]:
    return [leaf for leaf in leaves if leaf.getClass().getSimpleName() == name]


def in_fixed_order(rows: DataFrame) -> DataFrame:
    """The rows in an order that a task repeats: as they are, or sorted by their content.

    Only rows that are equal may change places then, which nobody can see.
    """
    if is_replayable(rows):
        return rows
    names = [field.name for field in told_apart(rows)]
    if len(names) == len(rows.columns):
        # The hash decides nearly always, so that the text is hardly ever made.
        whole = F.struct(*map(column, names)).cast("string")
        return rows.sortWithinPartitions(content_hash(rows), whole)
    # Only a star stands for columns that no name tells apart, and Spark sorts by no star.
    text = helper_name("content", rows)
    marked = rows.withColumn(text, F.struct(F.col("*")).cast("string"))
    return marked.sortWithinPartitions(content_hash(rows), text).drop(text)


def check_stream_order(stream: DataFrame, scheme: str) -> None:
    """Raise if a route depends on the order of a stream's rows and a retry could change it.

    A stream cannot be sorted; its partial results meet again in a shuffle, where Spark's
    order-independent checksums notice a changed route and repeat the stage.
    """
    if checksums_are_on(stream) or not _REORDERING.search(physical_plan(stream)):
        return
    raise RetryError(
        f"{scheme} routes rows in the order of their arrival, and this stream comes out of a "
        f"shuffle: a task that runs again would send them elsewhere. Set {CHECKSUMS[0]} and "
        f"{CHECKSUMS[1]} to true, or route right after reading"
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
