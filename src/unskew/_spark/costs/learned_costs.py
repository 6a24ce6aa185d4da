"""Scheduling by what keys have cost so far: batches learn from a slice, streams from each batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.costs.cost_aware_map import CostAwareMap
from unskew._spark.costs.mapped_stream import BatchSink, MappedStream
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew.errors import InputError
from unskew.sketches.cost_pair import CostPair, CostShape

REMEMBERED = 1 << 16
"""Timed rows after which older ones count half: costs drift."""

_REQUESTED = "posg: rows are dealt by the expected cost of their key"

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
    say(_REQUESTED)
    return done.union(work.placed(rest, work.by_cost(rest, costs)))


def _cut(learn: float) -> int:
    return round(learn * _SHARES)


def _draw(limit: int, salt: int) -> Column:
    """A number below `limit` for each row of a kept DataFrame, by its position there."""
    return F.pmod(F.xxhash64(F.monotonically_increasing_id(), F.lit(salt)), F.lit(limit))


class PosgStream(MappedStream):
    """A stream whose batches are dealt by key, by what the batches before them cost.

    When: micro-batches of seconds of work whose cost a column tells. Batches before any cost is
        known are left to plain Spark.
    Cost: a shuffle of each batch; at most 1,024 more calls of the function per task.
    """

    def __init__(
        self,
        rows: DataFrame,
        work: CostAwareMap,
        file: Path | None,
        say: Callable[[str], None],
    ) -> None:
        super().__init__(rows)
        self.work = work
        self.file = file
        self.say = say
        self.pair = _load(file, work.shape) or CostPair(work.shape)

    def process(self, batch: DataFrame, number: int, sink: BatchSink) -> None:
        """Route one batch, give the sink its result, learn from it."""
        worker = None
        if self.pair.rows:
            self.say(f"batch {number}: {_REQUESTED}; {self.pair.rows} timed rows are known")
            batch = in_fixed_order(batch)
            worker = self.work.by_cost(batch, self.pair)
        else:
            self.say(f"batch {number}: as is: nothing is known about the costs yet")
        result, observation = self.work.watched(batch, worker)
        sink(result, number)
        self.learn(self.work.learned_from(observation))

    def learn(self, costs: CostPair | None) -> None:
        """Remember what a batch cost; with `file` also across restarts."""
        if costs is None or not costs.rows:
            return
        self.pair = _aged(self.pair).merge(costs)
        if self.file is not None:
            unfinished = self.file.with_suffix(".unfinished")
            unfinished.write_text(self.pair.to_json())
            unfinished.replace(self.file)


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
