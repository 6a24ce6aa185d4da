"""Schemes of the apps with keyed state: ours, with emulated work if asked for, and Spark's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import unskew
from unskew.errors import ParameterError
from unskew.rebalancing import ALL, Rebalancer
from unskew.streaming import BatchProgress, Sink, StatefulStream
from unskew.testing import emulated_work
from unskew_lab.apps.contract import Answer, Scheme

HASHED = "kg"
SCHEMES = (HASHED, *ALL)
"""By hash, or by a table that one of the planners updates between batches."""
SPARK_JOIN = "stream-stream-join"
TRANSFORM, APPLY = "transformWithStateInPandas", "applyInPandasWithState"
STORE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}


def rebalancer_of(scheme: Scheme | Rebalancer) -> str | Rebalancer | None:
    """The scheme as the `rebalancer` of `unskew.streaming.stateful`."""
    if isinstance(scheme, str):
        return None if scheme == HASHED else scheme
    if not isinstance(scheme, Rebalancer):
        raise ParameterError(
            f"an app with keyed state plans while it runs; give one of {', '.join(SCHEMES)}"
        )
    return scheme


def run_to_end(stream: StatefulStream, sink: Sink | str) -> list[BatchProgress]:
    """Run until all input is processed; returns the progress of each batch."""
    stream.start(sink, availableNow=True).awaitTermination()
    return stream.progress


@dataclass
class Costly(unskew.streaming.Processor):
    """A processor whose rows take some seconds each."""

    inner: unskew.streaming.Processor
    seconds: float

    def process(self, key: Any, rows: pa.Table, state: Any) -> Any:
        """Wait, then process."""
        emulated_work(self.seconds * rows.num_rows)
        return self.inner.process(key, rows, state)

    def init(self, key: Any) -> Any:
        """As the inner one."""
        return self.inner.init(key)

    def on_timer(self, key: Any, state: Any, now: Any) -> Any:
        """As the inner one."""
        return self.inner.on_timer(key, state, now)


def with_cost(processor: unskew.streaming.Processor, seconds: float) -> unskew.streaming.Processor:
    """The processor, with emulated work for each row if any is asked for."""
    return Costly(processor, seconds) if seconds else processor


def counted_by_spark(rows: DataFrame, name: str, way: str, seconds: float) -> DataFrame:
    """The rows of each key so far, `count`, by one of Spark's operators with state in pandas.

    `name` is the column of the key; `STORE` has the settings that the operators need.
    """
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.n = handle.getValueState("n", "n bigint")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:  # noqa: N802
            here = sum(map(len, rows))
            emulated_work(seconds * here)
            total = here + (self.n.get()[0] if self.n.exists() else 0)
            self.n.update((total,))
            yield pd.DataFrame({name: [key[0]], "count": [total]})

        def close(self) -> None:
            pass

    def count(key: Any, rows: Any, state: Any) -> Iterator[Any]:
        here = sum(map(len, rows))
        emulated_work(seconds * here)
        total = here + (state.get[0] if state.exists else 0)
        state.update((total,))
        yield pd.DataFrame({name: [key[0]], "count": [total]})

    grouped, output = rows.groupBy(name), f"{name} string, count bigint"
    if way == TRANSFORM:
        return grouped.transformWithStateInPandas(Count(), output, "update", "none")
    return grouped.applyInPandasWithState(count, output, "n bigint", "update", "NoTimeout")


def on_spark(answer: Answer, rows: DataFrame, key: str, workers: int) -> Answer:
    """An answer of Spark's own, with the rows that its hash gives each of its tasks."""
    task = F.pmod(F.hash(key), F.lit(workers)).alias("task")
    found = rows.groupBy(task, key).count().groupBy("task")
    loads = np.zeros(workers)
    pairs = 0
    for row in found.agg(F.sum("count").alias("rows"), F.count("*").alias("pairs")).collect():
        loads[row["task"]], pairs = row["rows"], pairs + row["pairs"]
    return Answer(answer.rows, answer.figures, loads, pairs)
