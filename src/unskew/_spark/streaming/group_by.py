"""`groupBy` on a stream: partial results of each micro-batch, merged in Spark's state store."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from unskew._spark.frames.keys import KeyColumns, check_rows, column
from unskew._spark.frames.schemas import arrow_schema, check_names, struct_of
from unskew._spark.monitoring.feeds import Feed
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.stream_request import StreamRequest
from unskew._spark.streaming.aggregate import StreamAggregation
from unskew._spark.streaming.partials import Folded, Partials
from unskew._spark.streaming.replan.stream import ReplannedStream, replanned_stream
from unskew._spark.streaming.state_store_merge import OutputMode, check_mode
from unskew.aggregates import Aggregate
from unskew.errors import ParameterError, ParameterTypeError, SchemaError
from unskew.partitioners import Partitioner

SESSION = "spark.sessionWindow"
"""The metadata by which Spark marks session windows."""

Key = str | Column | Sequence[str | Column]
PartialFunction = Callable[[pa.Table], pa.Table]


def groupBy(  # noqa: N802 - PySpark's name
    stream: DataFrame,
    *keys: Key,
    workers: int | None = None,
    scheme: str | Partitioner | Plan = "auto",
    mode: OutputMode = "update",
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
    scheme : str, Partitioner or Plan
        A router that learns online, in each task, by name or with its settings
        (`PartialKey(workers=8, choices=5)`), or a plan. "auto" leaves to plain Spark what it
        combines itself.
    mode : {"update", "append", "complete"}
        The writer's output mode, which aggregates in Python must know beforehand.
    history : DataFrame, optional
        A batch of rows with keys like those to come: a plan is made from it now and stays as it
        is while the query runs.
    **settings
        Of a named scheme: the parameters of its class (`scheme="pkg", choices=5`). With `history`
        what `plan` takes: capacities, epsilon, table, sample.

    Returns
    -------
    GroupedStream
        With `agg`, `applyInArrow`, `replanned` and `explain`.
    """
    check_mode(mode)
    rows, names = keyed(stream, keys)
    request = StreamRequest.of(
        rows, names, workers=workers, scheme=scheme, history=history, settings=settings
    )
    return GroupedStream(rows, names, request, mode)


@dataclass(frozen=True, slots=True)
class GroupedStream:
    """A stream with a key, before a verb is called on it."""

    rows: DataFrame
    key: tuple[str, ...]
    request: StreamRequest
    mode: OutputMode

    def agg(self, *columns: Column | Aggregate, **named: Column | Aggregate) -> DataFrame:
        """One row for each key with the aggregates of its rows so far, as a stream to write.

        Takes unskew's aggregates, a user's own, and Spark's as columns. Counts, sums, means and
        extremes are merged by Spark's own aggregates, in every output mode; all others live in
        keyed state, in the modes update and append.
        """
        return self._aggregation(columns, named).run()

    def applyInArrow(  # noqa: N802
        self,
        func: PartialFunction,
        schema: StructType | str,
        *,
        merge: Sequence[Column],
    ) -> DataFrame:
        """Partial results by a function, merged by Spark's aggregates.

        `func` gets the rows of a key that one worker has in one micro-batch, as a table without
        the key's columns, and returns rows of `schema`; `merge` are aggregates of its columns,
        `[F.sum("n").alias("n")]`. The result is exact if they do not depend on how the rows of a
        key were cut into parts. All output modes.
        """
        struct = check_parts(self.key, func, schema, merge)
        decision = self.request.decide()
        placed, worker = decision.route.place(self.rows, decision.key)
        partials = function_partials(self.rows, self.key, func, struct)
        parts = partials.of(placed.drop(worker), self.key, decision.route.workers)
        return parts.groupBy(*map(column, self.key)).agg(*merge)

    def replanned(
        self,
        store: str,
        *columns: Aggregate,
        feeds: Sequence[Feed] = (),
        tolerance: float | None = None,
        **named: Aggregate,
    ) -> ReplannedStream:
        """Aggregate with a plan that changes: each batch is routed by what the last one held.

        This is batch code in `foreachBatch`, not one streaming plan: the merged result is kept in
        `store`, a folder, exactly once. Start `.writeStream`, read `.result()`. `feeds` get the
        record of each batch. `tolerance` is for "cg": how far above the mean of all workers' times
        a worker may be before it counts as busy, 0.05 unless given; its slot is the micro-batch.
        """
        return replanned_stream(
            self.rows, self.key, self.request, store, columns, named, feeds, tolerance
        )

    def explain(self, *columns: Column | Aggregate, **named: Column | Aggregate) -> None:
        """Print how `agg` with these arguments would run, and why."""
        print(self._aggregation(columns, named))

    def _aggregation(
        self, columns: Sequence[Column | Aggregate], named: Mapping[str, Column | Aggregate]
    ) -> StreamAggregation:
        return StreamAggregation.of(self.rows, self.key, self.request, self.mode, columns, named)


def keyed(stream: DataFrame, keys: Sequence[Key]) -> tuple[DataFrame, tuple[str, ...]]:
    """The stream with all of its key as columns, and their names."""
    check_rows("stream", stream)
    if not stream.isStreaming:
        raise ParameterError(
            "stream is not a streaming DataFrame (readStream); use unskew.groupBy for a batch"
        )
    names: list[str] = []
    for each in _flat(keys):
        if isinstance(each, str):
            names.append(each)
            continue
        if not isinstance(each, Column):
            raise ParameterTypeError("key", each, "the name of a column or an expression")
        name = stream.select(each).columns[0]
        if name in stream.columns:
            raise ParameterError(
                f"the key's expression is named {name!r}, like a column of the stream; "
                "give it another name with alias"
            )
        # Not withColumn: on Spark Connect it loses what marks a window of an event time.
        stream = stream.select("*", each)
        names.append(name)
    found = KeyColumns.of(stream, names).names
    _check_windows(stream, found)
    if len(set(found)) < len(found):
        raise ParameterError(f"the key names a column twice: {', '.join(found)}")
    return stream, found


def _check_windows(stream: DataFrame, names: Sequence[str]) -> None:
    """Raise for session windows: two of them may become one, which partial results cannot."""
    for name in names:
        if SESSION in stream.select(column(name)).schema[0].metadata:
            raise ParameterError(
                f"{name!r} is a session window, which has no partial results; "
                "use plain stream.groupBy(F.session_window(...))"
            )


def _flat(keys: Sequence[Key]) -> list[str | Column]:
    flat: list[Any] = []
    for key in keys:
        flat.extend(key if isinstance(key, list | tuple) else [key])
    return flat


def check_parts(
    key: Sequence[str],
    function: PartialFunction,
    schema: StructType | str,
    merge: Sequence[Column],
) -> StructType:
    """The parsed schema; raise for what would not run."""
    if len(inspect.signature(function).parameters) != 1:
        raise ParameterError("the function of a partial result takes one argument, a pyarrow Table")
    if not merge or not all(isinstance(each, Column) for each in merge):
        raise ParameterError(
            "merge must be Spark's aggregates of the schema's columns, as in "
            "[F.sum('n').alias('n')]; for a merge in Python write an Aggregate and use agg"
        )
    struct = struct_of(schema)
    taken = {name.lower() for name in key}
    clash = [name for name in struct.names if name.lower() in taken]
    if clash:
        raise SchemaError(
            f"the schema has the key's column {', '.join(clash)}; leave it out, the result has the "
            "key anyway"
        )
    return struct


def function_partials(
    rows: DataFrame, key: Sequence[str], function: PartialFunction, schema: StructType
) -> Partials:
    """Partial results by a user's function."""
    wanted = arrow_schema(schema)

    def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
        made = [_checked(function(pa.Table.from_batches([group])), wanted) for group in groups]
        columns = [
            pa.concat_arrays([chunk for part in made for chunk in part.column(place).chunks])
            for place in range(len(wanted))
        ]
        return Folded(columns, [part.num_rows for part in made])

    inputs = tuple(name for name in rows.columns if name not in key)
    return Partials(inputs or (key[0],), fold, schema)


def _checked(part: pa.Table, wanted: pa.Schema) -> pa.Table:
    if not isinstance(part, pa.Table):
        raise SchemaError(f"the function returned {type(part).__name__}; return a pyarrow Table")
    check_names(part.column_names, wanted.names, "the function's result")
    typed = part.select(wanted.names).cast(wanted)
    # A table without rows may have no chunks, and nothing to concatenate.
    return typed if typed.num_rows else wanted.empty_table().combine_chunks()
