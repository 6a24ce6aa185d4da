"""From a partitioner to a worker for each row: natively where possible, else on line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.keys import content_hash, key_hash
from unskew._spark.frames.physical_plan import check_order_may_matter
from unskew._spark.routing.native import is_native, worker_expression
from unskew._spark.routing.online import routed_by_task
from unskew.errors import NeedError, ParameterError
from unskew.partitioners import (
    ConsistentRing,
    KeyGrouping,
    Need,
    OfflineGreedy,
    Partitioner,
    RoutingTable,
)

Lowering = Literal["auto", "native", "online"]
Draw = Literal["content", "position"]

WORKER = "__unskew_worker"
POSITION = "__unskew_position"
"""Helper columns, unless the rows have columns of these names."""


def with_worker(
    rows: DataFrame,
    key: str | Sequence[str],
    partitioner: Partitioner,
    *,
    name: str | None = None,
    lowering: Lowering = "auto",
    draw: Draw = "content",
) -> DataFrame:
    """Add a column (`WORKER`, unless `name` is given) with each row's worker, an INT.

    Where a native scheme splits a key, a row's `draw` says which part it belongs to: a hash of
    its content (a pure function of the row, but level only where the rows of the key differ) or
    of its position (always level, for rows that come in the same order when a task runs again).
    """
    name = name or free_name(rows, WORKER)
    if lowered(partitioner, lowering) == "online" or is_pure(partitioner, draw):
        return rows.withColumn(name, worker_column(rows, key, partitioner, lowering=lowering))
    check_order_may_matter(rows, f"{partitioner.scheme} by position")
    position = free_name(rows, POSITION)
    # A column of its own: an id that counts rows counts anew at every mention.
    numbered = rows.withColumn(position, F.xxhash64(F.monotonically_increasing_id()))
    drawn = worker_expression(partitioner, key_hash(rows, key), row_hash=F.col(position))
    return numbered.withColumn(name, drawn).drop(position)


def worker_column(
    rows: DataFrame,
    key: str | Sequence[str],
    partitioner: Partitioner,
    *,
    lowering: Lowering = "auto",
) -> Column:
    """The worker of each row as an INT, to be used once, on `rows`; draws are by content."""
    hashed = key_hash(rows, key)
    if lowered(partitioner, lowering) == "native":
        return worker_expression(partitioner, hashed, row_hash=content_hash(rows))
    if partitioner.coordinated:
        raise NeedError(
            f"{partitioner.scheme} wants all sources to share one router, and Spark's tasks share "
            "nothing; take the form with local loads"
        )
    if order_matters(partitioner):
        check_order_may_matter(rows, partitioner.scheme)
    return routed_by_task(partitioner, hashed, order_matters(partitioner))


def lowered(partitioner: Partitioner, lowering: Lowering = "auto") -> Literal["native", "online"]:
    """How the scheme runs on Spark; refuse what cannot be native."""
    if lowering not in get_args(Lowering):
        raise ParameterError(f"lowering={lowering!r} is not one of {', '.join(get_args(Lowering))}")
    if lowering == "native" and not is_native(partitioner):
        raise ParameterError(
            f"this {partitioner.scheme} cannot be an expression: it learns as it routes, or its "
            "table is too long; take lowering='online'"
        )
    if lowering == "auto":
        return "native" if is_native(partitioner) else "online"
    return lowering


def is_pure(partitioner: Partitioner, draw: Draw) -> bool:
    """Whether a native route depends on nothing but the row."""
    return draw == "content" or partitioner.need is Need.WHOLE_KEY


def order_matters(partitioner: Partitioner) -> bool:
    """Whether a router of this scheme sends a row elsewhere when other rows come before it."""
    return not isinstance(partitioner, KeyGrouping | ConsistentRing | OfflineGreedy | RoutingTable)


def free_name(rows: DataFrame, wanted: str) -> str:
    """A name for a helper column that no column of `rows` has."""
    taken = {name.lower() for name in rows.columns}
    while wanted in taken:
        wanted += "_"
    return wanted
