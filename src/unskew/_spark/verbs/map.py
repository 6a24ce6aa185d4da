"""`mapInArrow` and `mapInPandas` for rows that differ in cost, on batches and streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from unskew._spark.costs.cost_aware_map import (
    BreakEven,
    CostAwareMap,
    CostKey,
    MapFunction,
    break_even,
)
from unskew._spark.costs.samples import JobCosts, logger
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew.checking import check_number
from unskew.errors import InputError, ParameterError, UnknownNameError
from unskew.sketches.cost_pair import CostPair, CostShape

Scheme: TypeAlias = Literal["auto", "posg"]
BatchSink = Callable[[DataFrame, int], None]

REMEMBERED = 1 << 16
"""Timed rows after which older ones count half: costs drift."""

_REQUESTED = BreakEven(True, "scheme='posg' was given")

_SHARES = 1 << 16


def mapInArrow(  # noqa: N802 - the name of its twin in PySpark
    df: DataFrame,
    func: MapFunction,
    schema: StructType | str,
    *,
    cost_key: CostKey,
    workers: int | None = None,
    scheme: Scheme = "auto",
    learn: float = 0.1,
    sketches: str | Path | None = None,
    say: Callable[[str], None] = logger.info,
) -> DataFrame | MappedStream:
    """`df.mapInArrow(func, schema)`, with rows assigned to tasks by their expected cost.

    A share `learn` of the rows is run right away, spread evenly, and timed by `cost_key`: a column,
    columns, or an expression such as `F.length("text") / 1000`. Its result is kept (a local
    checkpoint), not computed again. The rest is assigned to `workers` tasks by expected cost, or
    left to plain Spark where the forecast expects no gain; `say` gets the decision and the reason.

    When: rows are independent, cost milliseconds or more, and their cost depends on something that
        a column tells. Not for cheap functions: the shuffle costs more than it levels.
    Cost: the rows are stored by the executors (a local checkpoint); at most 1,024 more calls of the
        function per task, with a row or a few each, while costs are learned.

    Parameters
    ----------
    df : DataFrame
        A batch or a stream.
    func : callable
        From an iterator of batches to an iterator of batches, as in PySpark.
    schema : StructType or str
        The columns that it returns.
    cost_key : str, list of str or Column
        What the cost of a row depends on.
    workers : int, optional
        How many tasks; as many as run at a time if not given.
    scheme : {"auto", "posg"}
        "auto" schedules by cost where the forecast expects a gain, "posg" always.
    learn : float
        Share of a batch's rows that is run first, to learn what rows cost.
    sketches : str or Path, optional
        The file in which a stream keeps what it has learned.
    say : callable
        Gets one line: whether scheduling by cost is used, and why; the log `unskew` if not
        given.

    Returns
    -------
    DataFrame or MappedStream
        For a stream a `MappedStream`, which learns from every batch.
    """
    return _mapped(df, func, schema, "arrow", cost_key, workers, scheme, learn, sketches, say)


def mapInPandas(  # noqa: N802 - the name of its twin in PySpark
    df: DataFrame,
    func: MapFunction,
    schema: StructType | str,
    *,
    cost_key: CostKey,
    workers: int | None = None,
    scheme: Scheme = "auto",
    learn: float = 0.1,
    sketches: str | Path | None = None,
    say: Callable[[str], None] = logger.info,
) -> DataFrame | MappedStream:
    """`df.mapInPandas(func, schema)`, with rows assigned to tasks by their expected cost.

    As `mapInArrow` in everything else.
    """
    return _mapped(df, func, schema, "pandas", cost_key, workers, scheme, learn, sketches, say)


def _mapped(
    df: DataFrame,
    func: MapFunction,
    schema: StructType | str,
    form: Literal["arrow", "pandas"],
    cost_key: CostKey,
    workers: int | None,
    scheme: Scheme,
    learn: float,
    sketches: str | Path | None,
    say: Callable[[str], None],
) -> DataFrame | MappedStream:
    check_number("learn", learn)
    if not 0 < learn < 1:
        raise ParameterError(f"learn={learn} is not between 0 and 1; 0.1 learns from a tenth")
    if scheme not in get_args(Scheme):
        raise UnknownNameError("scheme", scheme, get_args(Scheme))
    always = scheme == "posg"
    work = CostAwareMap.of(df, func, schema, form, cost_key, workers)
    if df.isStreaming:
        return MappedStream(df, work, None if sketches is None else Path(sketches), say, always)
    if sketches is not None:
        raise ParameterError("sketches is for streams; a batch learns from its own rows")
    return _map_batch(df, work, learn, say, always)


def _map_batch(
    df: DataFrame, work: CostAwareMap, learn: float, say: Callable[[str], None], always: bool
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
    forecast = _REQUESTED if always else break_even(costs, work.workers, times=(1 - learn) / learn)
    say(str(forecast))
    if not forecast.pays:
        return done.union(work.plain(rest))
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
