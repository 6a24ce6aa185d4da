"""From a partitioner to a worker for each row: natively where possible, else on line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from evenkeel.errors import NeedError, ParameterError
from evenkeel.partitioners import (
    ConsistentRing,
    KeyGrouping,
    Need,
    OfflineGreedy,
    Partitioner,
    RoutingTable,
)
from evenkeel.spark.keys import content_hash, key_hash
from evenkeel.spark.native import is_native, worker_expression
from evenkeel.spark.online import routed_by_task
from evenkeel.spark.retries import check_order_may_matter

Lowering = Literal["auto", "native", "online"]
Draw = Literal["content", "position"]

WORKER = "__evenkeel_worker"
"""The helper column, unless the rows have one of that name."""


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
    worker = worker_column(rows, key, partitioner, lowering=lowering, draw=draw)
    return rows.withColumn(name or worker_name(rows), worker)


def worker_column(
    rows: DataFrame,
    key: str | Sequence[str],
    partitioner: Partitioner,
    *,
    lowering: Lowering = "auto",
    draw: Draw = "content",
) -> Column:
    """The worker of each row as an INT, to be used once, on `rows`."""
    hashed = key_hash(rows, key)
    if lowered(partitioner, lowering) == "native":
        drawn = content_hash(rows) if is_pure(partitioner, draw) else _position_hash(rows)
        return worker_expression(partitioner, hashed, row_hash=drawn)
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


def _position_hash(rows: DataFrame) -> Column:
    check_order_may_matter(rows, "planned-split by position")
    return F.xxhash64(F.monotonically_increasing_id())


def order_matters(partitioner: Partitioner) -> bool:
    """Whether a router of this scheme sends a row elsewhere when other rows come before it."""
    return not isinstance(partitioner, KeyGrouping | ConsistentRing | OfflineGreedy | RoutingTable)


def worker_name(rows: DataFrame) -> str:
    """A name for the helper column that no column of `rows` has."""
    taken = {name.lower() for name in rows.columns}
    name = WORKER
    while name in taken:
        name += "_"
    return name
