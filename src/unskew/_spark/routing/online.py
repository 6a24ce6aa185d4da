"""Schemes that learn as they route: the router, inside each task of the sending stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf

from unskew._spark.routing.numpy_split import Turns
from unskew.partitioners import StaticRoutes
from unskew.partitioners.contract import Router
from unskew.partitioners.static import AliasTable


class Starter(Protocol):
    """Anything that starts routers as a partitioner does."""

    def router(self, source: int = 0, sources: int = 1) -> Router:
        """Start the memory of one source."""
        ...


def routed_by_task(partitioner: Starter, key_hash: Column, order_matters: bool) -> Column:
    """The worker of a row as INT, picked by the router that its task started.

    Every Spark task is one source: it starts its own router and keeps it for all its batches, so
    routing needs no coordination. Only the hash, eight bytes a row, crosses into Python.
    """
    # pyspark's stubs want the kind of function as an argument; pyspark itself warns against it.
    route = arrow_udf(_route_batches(partitioner), "int")  # type: ignore[call-overload]
    if order_matters:
        # Else Catalyst runs it once for the column and again, from the start, for a filter on it.
        route = route.asNondeterministic()
    worker: Column = route(key_hash)
    return worker


def _route_batches(
    partitioner: Starter,
) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    starter = _light(partitioner)

    def route(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        context = TaskContext.get()
        source = context.partitionId() if context else 0
        router = starter.router(source, source + 1)
        for batch in batches:
            hashes = batch.to_numpy(zero_copy_only=False).view(np.uint64)
            yield pa.array(router.route(hashes), pa.int32())

    return route


def _light(partitioner: Starter) -> Starter:
    """The same routes without the compiler, where numpy is enough."""
    static: StaticRoutes | None = getattr(partitioner, "static", None)
    if static is None or static.arcs is not None:
        return partitioner
    table, alias = static.table, AliasTable.of(static.table)
    return Turns(static.workers, table.keys, table.starts, table.owners, *alias)
