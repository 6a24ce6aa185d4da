"""`groupBy` on a stream: partial results in every micro-batch, merged in Spark's state store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from unskew._spark.monitoring.feeds import Feed
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.stream_request import StreamRequest
from unskew._spark.streaming.aggregate import Aggregation
from unskew._spark.streaming.function_partials import check_parts, costly_partials
from unskew._spark.streaming.replan.stream import ReplannedStream, replanned_stream
from unskew._spark.streaming.state_store_merge import Mode
from unskew._spark.streaming.stream_keys import Key, keyed
from unskew.aggregates import Aggregate


def groupBy(  # noqa: N802 - PySpark's name
    stream: DataFrame,
    *keys: Key,
    workers: int | None = None,
    scheme: str | Plan = "auto",
    mode: Mode = "update",
    history: DataFrame | None = None,
    **settings: Any,
) -> GroupedStream:
    """Group a stream by columns, or expressions such as `F.window("time", "5 minutes")`.

    Each micro-batch is routed to `workers`, each worker makes one partial result for each of its
    keys, and Spark's state store merges them.

    When: partial results are costly to make (aggregates in Python, functions) and keys are skewed.
    Cost: a shuffle of the rows before Spark's own of the partial results; about twice the time of
        plain Spark for a mere count, which is why "auto" does not do it there.

    Parameters
    ----------
    stream : DataFrame
        Streaming rows.
    *keys : str, Column or list of them
        Columns by name, and expressions such as windows.
    workers : int, optional
        How many partitions; the shuffle partitions of the session if not given.
    scheme : str or Plan
        A router that learns on line, in each task, or a plan. "auto" leaves to plain Spark what
        it combines itself.
    mode : {"update", "append", "complete"}
        The writer's output mode, which aggregates in Python must know beforehand.
    history : DataFrame, optional
        A batch of rows with keys like those to come: a plan is made from it now and stays as it
        is while the query runs.
    **settings
        What `plan` takes: capacities, epsilon, table, sample.

    Returns
    -------
    GroupedStream
        With `agg`, `applyInArrow`, `replanned` and `explain`.
    """
    rows, names = keyed(stream, keys)
    request = StreamRequest.of(
        rows, names, workers=workers, scheme=scheme, history=history, settings=settings
    )
    return GroupedStream(rows, names, request, mode)


@dataclass(frozen=True, slots=True)
class GroupedStream:
    """A stream with a key, waiting for a verb."""

    rows: DataFrame
    key: tuple[str, ...]
    request: StreamRequest
    mode: Mode

    def agg(self, *columns: Column | Aggregate, **named: Column | Aggregate) -> DataFrame:
        """One row for each key with the aggregates of its rows so far, as `writeStream` wants it.

        Takes unskew's aggregates, a user's own, and Spark's as columns. Counts, sums, means and
        extremes are merged by Spark's own aggregates, in every output mode; all others live in
        keyed state, in the modes update and append.
        """
        return self._aggregation(columns, named).run()

    def applyInArrow(  # noqa: N802
        self,
        func: Callable[[pa.Table], pa.Table],
        schema: StructType | str,
        *,
        merge: Sequence[Column],
    ) -> DataFrame:
        """Costly partial results by a function, merged by Spark's aggregates.

        `func` gets the rows of a key that one worker has in one micro-batch, as a table without
        the key's columns, and returns rows of `schema`; `merge` are aggregates of its columns,
        `[F.sum("n").alias("n")]`. The result is exact if they do not depend on how the rows of a
        key were cut into parts. All output modes.
        """
        struct = check_parts(self.rows, self.key, func, schema, merge)
        decision = self.request.decide()
        placed, worker = decision.route.place(self.rows, decision.key)
        partials = costly_partials(self.rows, self.key, func, struct)
        parts = partials.of(placed.drop(worker), self.key, decision.route.workers)
        return parts.groupBy(*self.key).agg(*merge)

    def replanned(
        self, store: str, *columns: Aggregate, feeds: Sequence[Feed] = (), **named: Aggregate
    ) -> ReplannedStream:
        """The aggregates with a plan that changes: each batch is routed by what the last one held.

        This is batch code in `foreachBatch`, not one streaming plan: the merged result is kept in
        `store`, a folder, exactly once. Start `.writeStream`, read `.result()`. `feeds` get the
        record of each batch.
        """
        return replanned_stream(self.rows, self.key, self.request, store, columns, named, feeds)

    def explain(self, *columns: Column | Aggregate, **named: Column | Aggregate) -> None:
        """Print how `agg` with these arguments would run, and why."""
        print(self._aggregation(columns, named))

    def _aggregation(
        self, columns: Sequence[Column | Aggregate], named: Mapping[str, Column | Aggregate]
    ) -> Aggregation:
        return Aggregation.of(self.rows, self.key, self.request, self.mode, columns, named)
