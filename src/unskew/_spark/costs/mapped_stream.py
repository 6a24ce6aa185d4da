"""Mapped streams: each micro-batch is placed by what its rows cost, inside `foreachBatch`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from unskew._spark.costs.known_costs import KnownCosts
from unskew._spark.costs.stream_costs import StreamCosts
from unskew._spark.frames.files import checkpoint_of, is_connect
from unskew._spark.planning.notices import explained

BatchSink = Callable[[DataFrame, int], None]

_FOLDER = "unskew/costs"
"""In the folder of Spark's checkpoint."""


class MappedStream(ABC):
    """A mapped stream: each micro-batch is placed by what its rows cost.

    A streaming plan is fixed when it starts, so that batches are placed inside `foreachBatch`: give
    it a sink and start the writer it returns.

    When: micro-batches of seconds of work for each slot, in which single rows are costly. Batches
        that do not pay, by the forecast, are left to plain Spark and timed all the same.
    Cost: of a batch that may pay, its rows are kept while it runs, and their costs are read once; a
        shuffle if rows move. A few small files a batch for what is learned.
    """

    def __init__(self, rows: DataFrame) -> None:
        self.rows = rows

    def foreachBatch(self, sink: BatchSink) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """A writer that gives `sink` each batch's result; set trigger and checkpoint, and start it.

        `sink(result, batch_id)` should run one action on the result. A second one computes it
        again, as with any DataFrame. After a crash a batch comes again under the same id.
        """
        return self.rows.writeStream.foreachBatch(
            lambda batch, number: self.process(batch, number, sink)
        )

    @abstractmethod
    def process(self, batch: DataFrame, number: int, sink: BatchSink) -> None:
        """Place one batch, give the sink its result, learn from it."""


class CostliestFirstStream(MappedStream):
    """A stream whose batches run their costliest rows alone and first."""

    def __init__(
        self, rows: DataFrame, work: KnownCosts, folder: str | None, say: Callable[[str], None]
    ) -> None:
        super().__init__(rows)
        self.work = work
        self.folder = folder
        """Where what is learned is kept; None for the folder of the checkpoint."""
        self.say = say
        self._costs: StreamCosts | None = None

    def process(self, batch: DataFrame, number: int, sink: BatchSink) -> None:
        """Place one batch by what its rows are known to cost, and give the sink its result."""
        costs = self._kept_costs(batch)
        seen = None if costs is None else costs.before(number)
        start = None if costs is None else partial(costs.start, number)
        with ExitStack() as after:
            # Read twice, a batch would be computed twice: all of the stream's plan.
            keep = partial(_keep, batch, after)
            result, plan = self.work.planned(batch, seen, start, keep)
            self.say(f"batch {number}: {plan.way.name}: {plan.why}")
            sink(explained(result, plan), number)

    def _kept_costs(self, batch: DataFrame) -> StreamCosts | None:
        folder = self.folder
        if folder is None and not is_connect(batch):
            checkpoint = checkpoint_of(self.rows, batch)
            folder = checkpoint and f"{checkpoint}/{_FOLDER}"
        if folder is None:
            return None
        if self._costs is None or self._costs.folder != folder:
            self._costs = StreamCosts(folder, self.work.mark, self.work.told_by)
        return self._costs


def _keep(batch: DataFrame, after: ExitStack) -> None:
    batch.persist()
    after.callback(batch.unpersist)
