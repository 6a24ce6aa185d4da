"""`unskew.streaming.stateful`: a processor with state per key, whose keys can change worker."""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from unskew._spark.frames.arrow_files import file_system
from unskew._spark.frames.files import Files, check_classic
from unskew._spark.frames.keys import check_rows
from unskew._spark.monitoring.feeds import Feed, lines_feed, log_feed
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.planning.machine import Machine
from unskew._spark.stateful.batch_job import Sink
from unskew._spark.stateful.config import Duration, StatefulConfig, StateSchema, micros
from unskew._spark.stateful.continuation import check_query
from unskew._spark.stateful.controller import check_settings, planner_and_threshold
from unskew._spark.stateful.intervals import Cost
from unskew._spark.stateful.processor import Form, FunctionProcessor, Processor
from unskew._spark.stateful.run import RECORDS, StateRun
from unskew._spark.stateful.spark_checkpoint import (
    check_in_step,
    check_not_alone,
    query_of,
    rewind,
)
from unskew._spark.stateful.state_files import Storage
from unskew._spark.stateful.stored_state import last_commit, stored_state
from unskew.checking import check_whole
from unskew.errors import ParameterError, ParameterTypeError, StateError
from unskew.partitioners.contract import check_workers
from unskew.rebalancing import Rebalancer


def stateful(
    stream: DataFrame,
    key: str | Sequence[str],
    processor: Processor | Callable[..., Any],
    *,
    schema: StructType | str,
    state_schema: StructType | str,
    checkpoint: str,
    workers: int | None = None,
    rebalancer: str | Rebalancer | None = "level",
    theta: float | None = None,
    table_size: int | None = None,
    interval: int = 1,
    window: int = 5,
    cost: Cost = "seconds",
    payback: int | None = 10,
    rows: Form = "arrow",
    event_time: str | None = None,
    delay: Duration = "0 seconds",
    timeout: Duration | None = None,
    merge_after: int = 8,
) -> StatefulStream:
    """Run `processor` on the rows of each key, with the key's state, in every micro-batch.

    A batch is one Spark job: the task of each worker opens the worker's own store, which stays on
    its executor. Keys move when the cost of workers is out of balance.

    When: work that needs all rows of a key, costs more than a few µs a row and is skewed. Not for
        counts and sums: those merge, see `unskew.streaming.groupBy`. Classic sessions only.
    Cost: per batch one job of two stages; work and traffic follow the keys that have rows, not
        all keys.
    Paper: Fang et al., workload skewness and variance: Mixed, and its protocol for moving state,
        which here is a file that the old worker leaves for the new one at the end of a batch.

    Parameters
    ----------
    stream : DataFrame
        Streaming rows.
    key : str or list of str
        The columns of the key. Null keys are keys.
    processor : Processor or callable
        `process(key, rows, state)` gives output rows and the state to keep.
    schema, state_schema : StructType or str
        Of the output and of a key's state.
    checkpoint : str
        A folder on a file system that Spark can checkpoint to and Arrow can write to (a shared
        folder, hdfs, s3, gs, abfs); a restart goes on from it.
    workers : int, optional
        How many partitions; the slots of the cluster if not given.
    rebalancer : str or Rebalancer, optional
        Plans the routing table: a name, or an object such as `Mixed(theta=0.1, table=500)`; None
        leaves keys where their hash sends them. "level" moves least for the same balance.
    theta : float, optional
        How far the highest cost of a worker may be over the mean before a table is planned: 0.08
        unless given, or the `theta` of a rebalancer object, which must then not be given here.
    table_size : int, optional
        The most keys in a table: 3,000 unless given. Not with a rebalancer object, which has its
        own.
    interval : int
        Batches after which cost is compared.
    window : int
        Intervals whose state counts as memory.
    cost : {"seconds", "rows"}
        Time in the processor, or rows.
    payback : int, optional
        Batches within which a move must save more time than it takes; None moves whenever
        `theta` asks for it.
    rows : {"arrow", "pandas"}
        The form in which the processor gets rows.
    event_time : str, optional
        The column of the rows' time. Its watermark stays `delay` behind the latest event, and rows
        behind it are left out.
    delay : str or timedelta
        As for Spark's `withWatermark`.
    timeout : str or timedelta, optional
        Calls `on_timer` for keys without rows for this long: in event time where there is one, else
        in the time of the batches. Timers are checked when a batch runs.
    merge_after : int
        Batches after which a worker compacts the changes of its state, one worker after another.

    Returns
    -------
    StatefulStream
        With `start`, `progress` and `scale`.
    """
    check_rows("stream", stream)
    check_classic(stream)
    if not stream.isStreaming:
        raise ParameterError(
            "stateful requires a streaming DataFrame; for a batch use "
            "unskew.groupBy(...).applyInArrow"
        )
    if rows not in typing.get_args(Form):
        raise ParameterError(f"rows={rows!r} is not one of {', '.join(typing.get_args(Form))}")
    check_whole("merge_after", merge_after)
    if not callable(processor) and not isinstance(processor, Processor):
        raise ParameterTypeError("processor", processor, "a Processor or a function")
    if merge_after < 1:
        raise ParameterError(f"merge_after={merge_after} must be at least 1 batch")
    check_settings(interval, window, cost, payback)
    planner, threshold = planner_and_threshold(rebalancer, theta, table_size)
    count = Machine.of(stream.sparkSession).slots if workers is None else workers
    check_workers(count)
    config = StatefulConfig(
        processor=processor if isinstance(processor, Processor) else FunctionProcessor(processor),
        schema=StateSchema.of(stream, key, state_schema, schema, event_time),
        form=rows,
        workers=count,
        planner=planner,
        theta=threshold,
        interval=interval,
        window=window,
        cost=cost,
        payback=payback,
        delay=micros("delay", delay),
        timeout=None if timeout is None else micros("timeout", timeout),
        merge_after=merge_after,
    )
    return StatefulStream(stream, config, checkpoint)


class StatefulStream:
    """A stateful stream that is ready to start."""

    def __init__(self, stream: DataFrame, config: StatefulConfig, checkpoint: str) -> None:
        self.stream = stream
        self.config = config
        self.checkpoint = checkpoint
        self._run: StateRun | None = None

    def start(self, sink: Sink | str, **trigger: Any) -> StreamingQuery:
        """Start the query, from the checkpoint if there is one; returns Spark's own handle.

        `sink` is a function `(output, batch_id)` as for `foreachBatch`, or a path below which
        each batch's output is a Parquet folder `batch=N`. A batch whose end a crash prevented
        comes again with the same id: a path is then overwritten, and a function must do likewise.
        `trigger` is what Spark's `writeStream.trigger` takes, for example `availableNow=True`.
        """
        if self._run is not None:
            raise ParameterError(
                "this stream was already started; call stateful(...) to restart it"
            )
        spark = self.stream.sparkSession
        files = Files(spark, f"{self.checkpoint}/state")
        spark_files = Files(spark, f"{self.checkpoint}/spark")
        Storage(files.folder).check()
        feeds = [log_feed, _kept_in(Files(spark, self.checkpoint))]
        run = StateRun(self.config, files, spark_files, sink, feeds)
        run.restore()
        if run.commit is None:
            check_not_alone(spark_files, files.folder)
        else:
            # All that may refuse the start comes before anything is removed.
            check_query(run.commit, query_of(spark_files), files.folder, spark_files.folder)
            check_in_step(spark_files, run.commit.batch, files.folder)
            run.log.mend(run.commit)
            output = Files(spark, sink) if isinstance(sink, str) else None
            rewind(spark_files, run.commit.batch, output)
        self._run = run
        writer = self.stream.writeStream.foreachBatch(run)
        writer = writer.option("checkpointLocation", spark_files.folder)
        return (writer.trigger(**trigger) if trigger else writer).start()

    @property
    def progress(self) -> list[BatchProgress]:
        """What the last batches did, the newest last."""
        return list(self._run.progress) if self._run is not None else []

    def scale(self, workers: int) -> None:
        """Change the number of workers: the next batch hands state over, the one after it has them.

        Only the keys move that the consistent ring, or the plan, sends elsewhere.
        """
        check_workers(workers)
        if self._run is None:
            raise ParameterError("the stream is not started; pass workers= to stateful(...)")
        self._run.workers = workers


def read_state(spark: SparkSession, checkpoint: str) -> DataFrame:
    """The state of every key after the last committed batch: the key's columns, then the state's.

    The query may keep running; what is read is the state of one commit, whose files are kept for
    three batches. An action that comes later and finds them gone raises an error that says so:
    run one at once, and write the result or cache it.

    Parameters
    ----------
    spark : SparkSession
        A classic session.
    checkpoint : str
        The folder that `stateful` was given.

    Returns
    -------
    DataFrame
        One row for each key that has state.
    """
    files = Files(spark, f"{checkpoint}/state")
    commit = last_commit(files)
    if commit is None:
        raise StateError(
            f"{files.folder} has no commits; pass the checkpoint that stateful(...) was given"
        )
    key, state = (
        StructType.fromJson(json.loads(each)).names for each in (commit.key, commit.state)
    )
    found = stored_state(spark, files, commit)
    return found.select(
        *(F.col("key")[name].alias(name) for name in key),
        *(F.col("state")[name].alias(name) for name in state),
    )


def _kept_in(checkpoint: Files) -> Feed:
    """JSON lines in one file; one file per record where the file system may not support append."""
    if not checkpoint.folder.startswith("file:"):
        return files_feed(checkpoint)
    return lines_feed(file_system(checkpoint.folder)[1])


def files_feed(checkpoint: Files, kept: int = RECORDS) -> Feed:
    """Keep the last `kept` records in `batches/`, one table for `spark.read.json`."""

    def write(record: BatchProgress) -> None:
        name = f"batches/{record.batch}.json"
        checkpoint.remove(name)  # A batch repeated after a crash is written again.
        checkpoint.create(name, record.to_json().encode())
        checkpoint.remove(f"batches/{record.batch - kept}.json")

    return write
