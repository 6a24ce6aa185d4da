"""Scheduling by what keys have cost so far: batches learn from a slice, streams from each batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from unskew._spark.costs.cost_aware_map import BreakEven, CostAwareMap, break_even
from unskew._spark.costs.samples import JobCosts
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew.errors import InputError
from unskew.sketches.cost_pair import CostPair, CostShape

BatchSink = Callable[[DataFrame, int], None]

REMEMBERED = 1 << 16
"""Timed rows after which older ones count half: costs drift."""

_REQUESTED = BreakEven(True, "scheme='posg' was given")

_SHARES = 1 << 16


def map_batch(
    df: DataFrame, work: CostAwareMap, learn: float, say: Callable[[str], None]
) -> DataFrame:
    """Run and time a slice, then assign the rest by what was learned."""
    # Cut in two, the rows are read twice: they are kept, so that they are computed once.
    rows = df.localCheckpoint(eager=False)
    drawn = _draw(_SHARES, salt=1)
    first, rest = rows.filter(drawn < _cut(learn)), rows.filter(drawn >= _cut(learn))
    spread = _draw(work.workers, salt=2).cast("int")
    # Kept with the column of costs, which is then read from there: Spark Connect does not bring
    # back what is observed while a checkpoint is written.
    kept = work.timed(first, spread).localCheckpoint(eager=True)
    costs = work.joined(row[0] for row in kept.select(work.costs).dropna().collect())
    done = kept.drop(work.costs)
    say(str(_REQUESTED))
    return done.union(work.placed(rest, work.by_cost(rest, costs.pair)))


def _cut(learn: float) -> int:
    return round(learn * _SHARES)


def _draw(limit: int, salt: int) -> Column:
    """A number below `limit` for each row of a kept DataFrame, by its position there."""
    return F.pmod(F.xxhash64(F.monotonically_increasing_id(), F.lit(salt)), F.lit(limit))


class MappedStream:
    """A mapped stream: each micro-batch is scheduled by what the batches before it cost.

    A streaming plan is fixed when it starts, so what is learned between batches is applied inside
    `foreachBatch`: give it a sink and start the writer it returns.

    When: micro-batches of seconds of work whose cost a column tells. Batches that do not pay, by
        the forecast from the batch before, are left to plain Spark and timed all the same.
    Cost: a shuffle of each batch that pays; at most 1,024 more calls of the function per task.
    """

    def __init__(
        self,
        rows: DataFrame,
        work: CostAwareMap,
        sketches: Path | None,
        say: Callable[[str], None],
        always: bool = False,
    ) -> None:
        self.rows = rows
        self.work = work
        self.sketches = sketches
        self.say = say
        self.always = always
        self.pair = _load(sketches, work.shape) or CostPair(work.shape)
        self.last: JobCosts | None = None
        """What the last batch cost."""

    def foreachBatch(self, sink: BatchSink) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """A writer that gives `sink` each batch's result; set trigger and checkpoint, and start it.

        `sink(result, batch_id)` should run one action on the result. A second one computes it
        again, as with any DataFrame; costs are learned from the first.
        """
        return self.rows.writeStream.foreachBatch(
            lambda batch, number: self.process(batch, number, sink)
        )

    def process(self, batch: DataFrame, number: int, sink: BatchSink) -> None:
        """Route one batch, give the sink its result, learn from it."""
        forecast = self.forecast()
        self.say(f"batch {number}: {forecast}")
        worker = None
        if forecast.pays:
            batch = in_fixed_order(batch)
            worker = self.work.by_cost(batch, self.pair)
        result, observation = self.work.watched(batch, worker)
        sink(result, number)
        self.learn(self.work.learned_from(observation))

    def forecast(self) -> BreakEven:
        """Whether the next batch will be scheduled by cost, and why."""
        if self.always and self.pair.rows:
            return _REQUESTED
        if self.last is not None:
            return break_even(self.last, self.work.workers)
        if self.pair.rows:
            return BreakEven(True, f"{self.pair.rows} timed rows are remembered from earlier")
        return BreakEven(False, "nothing is known about the costs yet")

    def learn(self, costs: JobCosts | None) -> None:
        """Remember what a batch cost; with `sketches` also across restarts."""
        if costs is None or not costs.keys.size:
            return
        self.last = costs
        self.pair = _aged(self.pair).merge(costs.pair)
        if self.sketches is not None:
            unfinished = self.sketches.with_suffix(".unfinished")
            unfinished.write_text(self.pair.to_json())
            unfinished.replace(self.sketches)


def _aged(pair: CostPair) -> CostPair:
    """Halve every cell, rounding up, at the same mean cost."""
    if pair.rows <= REMEMBERED:
        return pair
    counts = (pair.counts + 1) // 2
    return CostPair(pair.shape, counts, pair.costs * counts / np.maximum(pair.counts, 1))


def _load(path: Path | None, shape: CostShape) -> CostPair | None:
    if path is None or not path.exists():
        return None
    try:
        pair = CostPair.from_json(path.read_text())
    except (ValueError, KeyError) as error:
        raise InputError(
            f"{path} does not hold the costs of a stream ({error}); delete it to start afresh"
        ) from error
    if pair.shape != shape:
        raise InputError(
            f"{path} holds matrices of {pair.shape}, and this version's are of {shape}; "
            "delete it to start afresh"
        )
    return pair
