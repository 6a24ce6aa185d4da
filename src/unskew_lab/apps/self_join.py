"""Who buys and sells the same stock within a day: a self-join by stock over a sliding window.

    trades ──(stock: hash, or a table that changes)──> workers: the stock's last day ──> pairs

A trade meets the earlier trades of its stock, so a stock is whole, on one worker, with its last
day's trades as state. Stocks differ a thousandfold and have bursts; when they do, stocks move with
their trades to other workers (paper on workload skewness and variance, section V, Stock).
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

import unskew
from unskew.workloads import FluctuatingKeys
from unskew_lab.apps.changing_keys import changing_ids
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.keyed_state import (
    SCHEMES,
    SPARK_JOIN,
    on_spark,
    rebalancer_of,
    run_to_end,
    with_cost,
)
from unskew_lab.apps.ranking import ranked, same
from unskew_lab.apps.replaying import Replay

WINDOW = datetime.timedelta(days=1)
PAIRS = "stock string, trader string, bought timestamp, sold timestamp"
STATE = "at array<bigint>, trader array<string>, buys array<boolean>"
_TIME = pa.timestamp("us", "UTC")

Times = NDArray[np.int64]
Rows = NDArray[np.intp]


class Pairs(unskew.streaming.Processor):
    """Pairs purchases and sales of a trader that are at most `window` apart in time."""

    def __init__(self, window: datetime.timedelta = WINDOW) -> None:
        self.window = window // datetime.timedelta(microseconds=1)

    def process(self, key: Any, rows: pa.Table, state: Any) -> tuple[pa.Table, Any]:
        """The pairs that contain a row of this batch; the trades that may still find partners."""
        known = state or {"at": [], "trader": [], "buys": []}
        old = len(known["at"])
        at = np.array([*known["at"], *rows["at"].cast(pa.int64()).to_pylist()], dtype=np.int64)
        traders = pa.array([*known["trader"], *rows["trader"].to_pylist()], pa.string())
        buys = np.array([*known["buys"], *rows["buys"].to_pylist()], dtype=bool)
        names = traders.dictionary_encode().indices.to_numpy()
        bought, sold = partners(at, names, buys, self.window)
        new = np.maximum(bought, sold) >= old
        bought, sold = bought[new], sold[new]
        pairs = pa.table(
            {
                "stock": pa.array([key] * bought.size, pa.string()),
                "trader": traders.take(pa.array(bought)),
                "bought": pa.array(at[bought], _TIME),
                "sold": pa.array(at[sold], _TIME),
            }
        )
        kept = at >= at.max() - self.window
        left = traders.filter(pa.array(kept)).to_pylist()
        return pairs, {"at": at[kept], "trader": left, "buys": buys[kept]}


def partners(at: Times, traders: Rows, buys: Any, most: int) -> tuple[Rows, Rows]:
    """The rows of all pairs of a purchase and a sale by one trader, at most `most` apart.

    >>> at, traders = np.array([10, 90, 5, 12, 50]), np.array([0, 0, 0, 0, 0])
    >>> partners(at, traders, np.array([True, True, False, False, False]), 10)
    (array([0, 0]), array([2, 3]))
    """
    # Times become their places, so that trader and time fit into one number that can be sorted.
    times, places = np.unique(at, return_inverse=True)
    first, last = np.searchsorted(times, at - most), np.searchsorted(times, at + most, "right")
    base = traders.astype(np.int64) * (times.size + 1)
    bought, sold = np.flatnonzero(buys), np.flatnonzero(~buys)
    sold = sold[np.argsort((base + places)[sold], kind="stable")]
    start, end = (
        np.searchsorted((base + places)[sold], (base + bound)[bought]) for bound in (first, last)
    )
    count = end - start
    before = np.repeat(np.cumsum(count) - count - start, count)
    return np.repeat(bought, count), sold[np.arange(count.sum()) - before]


def joined(
    trades: DataFrame,
    checkpoint: str,
    scheme: Scheme = "mixed",
    workers: int = 8,
    seconds: float = 0.0,
) -> unskew.streaming.StatefulStream:
    """The stream of pairs of a stream of trades, which come in the order of `at`.

    Each trade may take some `seconds` of emulated work.
    """
    return unskew.streaming.stateful(
        trades,
        "stock",
        with_cost(Pairs(), seconds),
        schema=PAIRS,
        state_schema=STATE,
        event_time="at",
        # A trade just as old as the window has a partner in one that is still to come.
        timeout=WINDOW + datetime.timedelta.resolution,
        rebalancer=rebalancer_of(scheme),
        cost="seconds" if seconds else "rows",  # Of little work, seconds are mostly chance.
        workers=workers,
        checkpoint=checkpoint,
    )


def prepared(table: DataFrame) -> DataFrame:
    """`stock`, `at`, `trader` (one for all, if the table has none) and whether the trade `buys`."""
    at = F.col("at")
    if isinstance(table.schema["at"].dataType, NumericType):
        at = F.timestamp_seconds(at)
    trader = F.col("trader").cast("string") if "trader" in table.columns else F.lit("")
    rows = table.select(
        F.col("stock").cast("string").alias("stock"),
        at.cast("timestamp").alias("at"),
        F.coalesce(trader, F.lit("")).alias("trader"),
        F.coalesce(_buys(table), F.lit(True)).alias("buys"),
    )
    return rows.dropna(subset=["stock", "at"])


def _buys(table: DataFrame) -> Column:
    if "quantity" in table.columns:
        return F.col("quantity") > 0
    # A stream of mere mentions has no sides: half of them are taken for either.
    return F.xxhash64("stock", "at") % 2 == 0


def joined_by_spark(trades: DataFrame) -> DataFrame:
    """The same stream by Spark's join of a stream with itself."""
    late = trades.withWatermark("at", "0 seconds")
    bought = late.where("buys").select("stock", "trader", F.col("at").alias("bought"))
    sold = late.where("NOT buys").select("stock", "trader", F.col("at").alias("sold"))
    near = F.expr("sold BETWEEN bought - INTERVAL 1 DAY AND bought + INTERVAL 1 DAY")
    both = bought.alias("b").join(
        sold.alias("s"),
        (F.col("b.stock") == F.col("s.stock")) & (F.col("b.trader") == F.col("s.trader")) & near,
    )
    return both.select("b.stock", "b.trader", "bought", "sold")


def plain_pairs(trades: DataFrame) -> DataFrame:
    """The same by a join of the whole table, in SQL."""
    query = """
        SELECT b.stock, b.trader, b.at AS bought, s.at AS sold
        FROM {trades} b JOIN {trades} s ON b.stock = s.stock AND b.trader = s.trader
        WHERE b.buys AND NOT s.buys AND s.at BETWEEN b.at - INTERVAL 1 DAY AND b.at + INTERVAL 1 DAY
    """
    return trades.sparkSession.sql(query, trades=trades)


def random_trades(spark: SparkSession) -> DataFrame:
    """60,000 trades of 1,036 stocks in three days; every six hours other stocks are hot."""
    rng, intervals, rows = np.random.default_rng(42), 12, 60_000
    sizes = [rows // intervals] * intervals
    keys = FluctuatingKeys.zipf(0.85, keys=1_036)
    stock = np.concatenate(list(changing_ids(keys, sizes)))
    at = np.linspace(0, 3 * 86_400, rows, endpoint=False).astype(np.int64)
    return spark.createDataFrame(
        pa.table(
            {
                "stock": np.char.add("stock-", stock.astype(str)).tolist(),
                "at": 1_700_000_000 + at,
                "trader": np.char.add("trader-", rng.integers(0, 500, rows).astype(str)).tolist(),
                "quantity": rng.choice([-1, 1], rows) * rng.integers(1, 100, rows),
            }
        )
    )


def _dense(pairs: DataFrame) -> Answer:
    counts = pairs.groupBy("stock", "trader").agg(F.count(F.lit(1)).alias("pairs"))
    return ranked(counts, "stock", "trader", count="pairs")


def _stream(trades: Replay, scheme: Scheme, workers: int) -> Answer:
    folder = trades.scratch()
    pairs = f"{folder}/pairs"
    batches: list[unskew.streaming.BatchProgress] = []
    if scheme == SPARK_JOIN:
        writer = joined_by_spark(trades.stream()).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", f"{folder}/checkpoint").option("path", pairs)
        writer.trigger(availableNow=True).start().awaitTermination()
    else:
        checkpoint = f"{folder}/checkpoint"
        stream = joined(trades.stream(), checkpoint, scheme, workers, trades.cost)
        batches = run_to_end(stream, pairs)
    found = _dense(trades.rows.sparkSession.read.schema(PAIRS).parquet(pairs))
    if scheme == SPARK_JOIN:
        return on_spark(found, trades.rows, "stock", workers)
    return Answer(found.rows, found.figures, batches=batches)


APP = App(
    name="self-join",
    key=("stock",),
    columns=("stock", "at"),
    optional=("quantity", "trader"),
    need=unskew.Need.WHOLE_KEY,
    schemes=("mixed", "level", "readj", "kg", SPARK_JOIN),
    names=(*SCHEMES, SPARK_JOIN),
    by_routes=False,
    keeps_state=True,
    generate=random_trades,
    prepare=prepared,
    stream=_stream,
    batches=12,
    order="at",
    reference=lambda trades: _dense(plain_pairs(trades)),
    agrees=same,
)
