"""Query 5 of TPC-H as a continuous query: revenue by nation, of the last five minutes.

    orders ──┐
             ├─(order: hash, or a table that changes)──> workers: order with its lines, 5 minutes
    lines ───┘                                                  |
       customers, suppliers ──(join)──> local sales <───────────┘
                                            └──> revenue by nation and minutes ──> by window

An order and its lines come at different times, in any order, and wait for each other on the worker
of the order; popular orders move with what waits. A sale counts in the windows that hold both its
order and its line (paper on workload skewness and variance, section V, TPC-H).
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew_lab.apps import tpch_data
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.keyed_state import (
    SCHEMES,
    SPARK_JOIN,
    on_spark,
    rebalancer_of,
    run_to_end,
    with_cost,
)
from unskew_lab.apps.ranking import same
from unskew_lab.apps.replaying import Replay

SCALE = 0.01
REGION = "ASIA"
WINDOW = datetime.timedelta(minutes=tpch_data.WINDOW)
SALES = (
    "custkey bigint, suppkey bigint, price decimal(15,2), discount decimal(15,2), "
    "first timestamp, last timestamp"
)
STATE = (
    "at timestamp, custkey bigint, "
    "lines array<struct<at: timestamp, suppkey: bigint, "
    "price: decimal(15,2), discount: decimal(15,2)>>"
)
REVENUE = "nation string, first timestamp, last timestamp, revenue decimal(38,4)"


class Sales(unskew.streaming.Processor):
    """Joins an order with its lines, whichever comes first; each line becomes one sale."""

    def process(self, key: Any, rows: pa.Table, state: Any) -> Any:
        """The sales of this batch; the state is the order, or the lines that wait for it."""
        known = dict(state or {"at": None, "custkey": None, "lines": []})
        waiting = list(known["lines"])
        for row in rows.to_pylist():
            if row["kind"] == "order":
                known.update(at=row["at"], custkey=row["custkey"])
            else:
                waiting.append({name: row[name] for name in ("at", *_LINE)})
        if known["at"] is None:
            newest = max(line["at"] for line in waiting)
            known["lines"] = [line for line in waiting if newest - line["at"] < WINDOW]
            return None, known
        sales = [_sale(known, line) for line in waiting if _meet(known["at"], line["at"])]
        return sales, {**known, "lines": []}


_LINE = ("suppkey", "price", "discount")


def _meet(one: datetime.datetime, two: datetime.datetime) -> bool:
    return abs(one - two) < WINDOW


def _sale(order: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    times = sorted((order["at"], line["at"]))
    values = {name: line[name] for name in _LINE}
    return {"custkey": order["custkey"], **values, "first": times[0], "last": times[1]}


def sales(
    events: DataFrame,
    checkpoint: str,
    scheme: Scheme = "mixed",
    workers: int = 8,
    theta: float = 0.08,
    processor: unskew.streaming.Processor | None = None,
    cost: Literal["rows", "seconds"] = "rows",
) -> unskew.streaming.StatefulStream:
    """The stream of sales of a stream of orders and lines, which come in the order of `at`."""
    return unskew.streaming.stateful(
        events,
        "orderkey",
        processor or Sales(),
        schema=SALES,
        state_schema=STATE,
        event_time="at",
        timeout=WINDOW,
        rebalancer=rebalancer_of(scheme),
        cost=cost,  # Of little work, seconds are mostly chance.
        theta=theta,
        workers=workers,
        checkpoint=checkpoint,
    )


def sold_by_spark(events: DataFrame) -> DataFrame:
    """The same stream by Spark's join of two streams."""
    late = events.withWatermark("at", "0 seconds")
    orders = late.where("kind = 'order'").select(
        "orderkey", "custkey", F.col("at").alias("ordered")
    )
    lines = late.where("kind = 'line'").select(
        F.col("orderkey").alias("of"), F.col("at").alias("came"), *_LINE
    )
    window = f"INTERVAL {tpch_data.WINDOW} MINUTES"
    near = F.expr(f"came > ordered - {window} AND came < ordered + {window}")
    both = orders.join(lines, (F.col("orderkey") == F.col("of")) & near)
    first, last = F.least("ordered", "came"), F.greatest("ordered", "came")
    return both.select("custkey", *_LINE, first.alias("first"), last.alias("last"))


def local_revenue(sold: DataFrame, rows: DataFrame) -> DataFrame:
    """Revenue of sales within a nation of the region, by the minutes of order and line."""
    homes = rows.where(F.col("region") == REGION)
    customers = homes.where("kind = 'customer'").select("custkey", "nation")
    suppliers = homes.where("kind = 'supplier'").select("suppkey", F.col("nation").alias("home"))
    both = unskew.join(unskew.join(sold, customers, "custkey"), suppliers, "suppkey")
    minutes = [F.date_trunc("minute", name).alias(name) for name in ("first", "last")]
    revenue = F.sum(F.expr("price * (1 - discount)")).cast("decimal(38,4)").alias("revenue")
    return both.where("nation = home").groupBy("nation", *minutes).agg(revenue)


def by_window(revenue: DataFrame, until: datetime.datetime) -> DataFrame:
    """Revenue by nation of every window that has ended, from revenue by minutes."""
    minute = F.expr("INTERVAL 1 MINUTE")
    ends = F.sequence(F.col("last") + minute, F.col("first") + F.lit(WINDOW), minute)
    shared = revenue.where(F.col("last") < F.col("first") + F.lit(WINDOW))
    windows = shared.select("nation", "revenue", F.explode(ends).alias("until"))
    ended = windows.where(F.col("until") <= F.lit(until))
    return ended.groupBy("until", "nation").agg(F.sum("revenue").alias("revenue"))


def plain_q5(rows: DataFrame) -> DataFrame:
    """Query 5 in SQL on whole tables, once for each window."""
    query = f"""
        SELECT w.until, c.nation, sum(l.price * (1 - l.discount)) AS revenue
        FROM {{windows}} w, {{rows}} o, {{rows}} l, {{rows}} c, {{rows}} s
        WHERE o.kind = 'order' AND l.kind = 'line'
          AND c.kind = 'customer' AND s.kind = 'supplier'
          AND c.custkey = o.custkey AND l.orderkey = o.orderkey AND l.suppkey = s.suppkey
          AND c.nation = s.nation AND c.region = '{REGION}'
          AND o.at >= w.until - INTERVAL {tpch_data.WINDOW} MINUTES AND o.at < w.until
          AND l.at >= w.until - INTERVAL {tpch_data.WINDOW} MINUTES AND l.at < w.until
        GROUP BY w.until, c.nation
    """
    spark = rows.sparkSession
    windows = spark.createDataFrame([(end,) for end in _ends()], "until timestamp")
    return spark.sql(query, rows=rows, windows=windows)


def _ends() -> Sequence[datetime.datetime]:
    minute = datetime.timedelta(minutes=1)
    return [tpch_data.START + number * minute for number in range(1, tpch_data.MINUTES + 1)]


def read(spark: SparkSession, folder: Path) -> DataFrame:
    """The events of a folder of TPC-H tables, with newly drawn foreign keys."""
    return spark.createDataFrame(tpch_data.events(tpch_data.read(folder)))


def random_sales(spark: SparkSession, scale: float = SCALE) -> DataFrame:
    """15,000 orders with 60,000 lines, from a generator of TPC-H."""
    with TemporaryDirectory() as folder:
        tpch_data.generate(scale, Path(folder))
        return read(spark, Path(folder))


def facts(rows: DataFrame) -> DataFrame:
    """The orders and lines, which are the stream; customers and suppliers are tables."""
    events = rows.where("kind IN ('order', 'line')")
    return events.select("kind", "at", "orderkey", "custkey", *_LINE)


def _answer(revenue: DataFrame) -> Answer:
    """The last window first, in it by descending revenue."""
    found = [row.asDict() for row in revenue.collect()]
    found.sort(key=lambda row: (row["until"], row["revenue"], row["nation"]), reverse=True)
    shown = [{**row, "until": f"{row['until']:%H:%M}"} for row in found]
    total = sum(row["revenue"] for row in found)
    return Answer(shown, {"windows": len({row["until"] for row in shown}), "total": f"{total}"})


def _stream(replay: Replay, scheme: Scheme, workers: int) -> Answer:
    folder = replay.scratch()

    def keep(sold: DataFrame, batch: int) -> None:
        part = local_revenue(sold, replay.rows)
        part.write.mode("overwrite").parquet(f"{folder}/revenue/batch={batch}")

    batches: list[unskew.streaming.BatchProgress] = []
    events, checkpoint = facts(replay.stream()), f"{folder}/checkpoint"
    if scheme == SPARK_JOIN:
        writer = sold_by_spark(events).writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.start().awaitTermination()
    else:
        processor = with_cost(Sales(), replay.cost)
        cost: Literal["rows", "seconds"] = "seconds" if replay.cost else "rows"
        stream = sales(events, checkpoint, scheme, workers, processor=processor, cost=cost)
        batches = run_to_end(stream, keep)
    revenue = replay.rows.sparkSession.read.schema(REVENUE).parquet(f"{folder}/revenue")
    found = _answer(by_window(revenue, _ends()[-1]))
    if scheme == SPARK_JOIN:
        return on_spark(found, facts(replay.rows), "orderkey", workers)
    return Answer(found.rows, found.figures, batches=batches)


APP = App(
    name="tpch-q5",
    key=("orderkey",),
    columns=tuple(tpch_data.EVENTS.names),
    need=unskew.Need.WHOLE_KEY,
    schemes=("mixed", "level", "readj", "kg", SPARK_JOIN),
    names=(*SCHEMES, SPARK_JOIN),
    by_routes=False,
    keeps_state=True,
    generate=random_sales,
    read=read,
    prepare=lambda rows: rows,
    routed=facts,
    stream=_stream,
    batches=tpch_data.MINUTES,
    order="at",
    reference=lambda rows: _answer(plain_q5(rows)),
    agrees=same,
)
