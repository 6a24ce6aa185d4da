"""The same on a stream: every micro-batch is dealt by what the batches before it cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from unskew._spark.costs.break_even import Verdict, judge
from unskew._spark.costs.cost_aware_map import Work
from unskew._spark.costs.samples import JobCosts
from unskew.errors import InputError
from unskew.sketches.cost_pair import CostPair, CostShape

Sink = Callable[[DataFrame, int], None]

REMEMBERED = 1 << 16
"""Timed rows after which older ones count half: costs drift."""


class MappedStream:
    """A stream whose function runs where rows will be done first.

    A streaming plan is fixed when it starts, so what is learned between batches is applied inside
    `foreachBatch`: give it a sink and start the writer it returns.

    When: micro-batches of seconds of work whose cost a column tells. Batches that do not pay, by
        the forecast from the batch before, are left to plain Spark and timed all the same.
    Cost: a shuffle of each batch that pays; at most 1,024 more calls of the function per task.
    """

    def __init__(
        self,
        rows: DataFrame,
        work: Work,
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

    def foreachBatch(self, sink: Sink) -> DataStreamWriter:  # noqa: N802 - Spark's name
        """A writer that gives `sink` each batch's result; set trigger and checkpoint, and start it.

        `sink(result, batch_id)` should run one action on the result. A second one computes it
        again, as with any DataFrame; costs are learned from the first.
        """
        return self.rows.writeStream.foreachBatch(
            lambda batch, number: self.process(batch, number, sink)
        )

    def process(self, batch: DataFrame, number: int, sink: Sink) -> None:
        """Deal one batch, let the sink have its result, learn."""
        verdict = self.verdict()
        self.say(
            f"batch {number}: posg {'pays' if verdict.pays else 'does not pay'}: {verdict.why}"
        )
        worker = self.work.by_cost(batch, self.pair) if verdict.pays else None
        result, observation = self.work.watched(batch, worker)
        sink(result, number)
        self.learn(self.work.learned_from(observation))

    def verdict(self) -> Verdict:
        """Whether the next batch will be scheduled by cost."""
        if self.always and self.pair.rows:
            return Verdict(True, "scheme='posg' was given")
        if self.last is not None:
            return judge(self.last, self.work.workers)
        if self.pair.rows:
            return Verdict(True, f"{self.pair.rows} timed rows are remembered from earlier")
        return Verdict(False, "nothing is known about the costs yet")

    def learn(self, costs: JobCosts | None) -> None:
        """Remember what a batch cost, also beyond a restart."""
        if costs is None or not costs.keys.size:
            return
        self.last = costs
        self.pair = _aged(self.pair).merge(costs.pair)
        if self.sketches is not None:
            unfinished = self.sketches.with_suffix(".unfinished")
            unfinished.write_text(self.pair.to_json())
            unfinished.replace(self.sketches)


def _aged(pair: CostPair) -> CostPair:
    """Half of every cell, rounded up, at the same mean cost."""
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
            f"{path} does not hold the costs of a stream ({error}); remove it to learn anew"
        ) from error
    if pair.shape != shape:
        raise InputError(
            f"{path} holds matrices of {pair.shape}, and this version's are of {shape}; "
            "remove it to learn anew"
        )
    return pair
