"""Routers inside the tasks of the sending stage, for schemes that learn as they route."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf

from unskew._spark.frames.prompt_tasks import be_prompt
from unskew._spark.routing.numpy_split import NumpySplit
from unskew.partitioners import Proactive, StaticRoutes
from unskew.partitioners.contract import KeyHashes, Router, WorkerIds
from unskew.partitioners.static import AliasTable
from unskew.sketches.cost_pair import CostPair


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
        be_prompt()
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
    return NumpySplit(static.workers, table.keys, table.starts, table.owners, *alias)


@dataclass(frozen=True, slots=True)
class CostliestFirst:
    """Proactive scheduling that sees a whole Arrow batch: its costliest rows are assigned first.

    By falling cost, the cheap rows level what the costly ones left: a source ends with workers
    that are level to the cost of its cheapest rows instead of its costliest.
    """

    posg: Proactive

    def router(self, source: int = 0, sources: int = 1) -> CostliestFirstRouter:
        """Start the memory of one source."""
        assert self.posg.learned is not None
        learned = self.posg.learned
        costs = CostPair(self.posg.shape, learned.counts.copy(), learned.costs.copy())
        # Sources know nothing of each other: each begins with another worker.
        return CostliestFirstRouter(
            self.posg.router(source, sources), costs, source % self.posg.workers, self.posg.workers
        )


@dataclass(slots=True)
class CostliestFirstRouter:
    """One source's scheduler."""

    inner: Router
    costs: CostPair
    first: int
    workers: int

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every row of one batch."""
        order = np.argsort(-self.costs.estimate(keys), kind="stable")
        out = np.empty(keys.size, dtype=np.int32)
        out[order] = (self.inner.route(keys[order]) + self.first) % self.workers
        return out
