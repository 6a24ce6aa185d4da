"""What a batch with keyed state takes that has hardly any work: fixed costs, moves, much state."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unskew.partitioners import RoutingTable
from unskew.rebalancing import KeyStatistics, Mixed, Rebalance
from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.session import new_session
from unskew_lab.stream_files import write_stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from unskew.streaming import BatchProgress

GROWTH = 1.2
WORKERS, TOUCHED, FIXED_ROWS = 8, 8_000, 20_000
FIXED_KEYS, FIXED_BATCHES = 100_000, 16
SQL, BEFORE, GAIN, APPLY_GAIN = 3.0, 0.4, 0.2, 0.5
OPERATOR_BATCHES = 5
LAYERS = 1.87
"""Seconds of the same batch when state was in DataFrames: on two cores, in one JVM."""
STATE_SIZES = (10_000, 1_000_000, 10_000_000)
MOVED = {100: 1.1, 5_000: 1.3}
"""Keys that a batch moves, and the longest that it may take, relative to one that moves none."""


def run() -> Iterator[Measurement]:
    """The fixed cost of a batch, the price of a move, growth of the state."""
    from unskew_lab.apps.keyed_state import STORE

    session = new_session(2)
    for name, value in STORE.items():
        session.conf.set(name, value)
    yield from _fixed(session)
    yield from _moving(session)
    yield from _growing(session)


def _stream(session: SparkSession, folder: str) -> DataFrame:
    reader = session.readStream.schema("key string").option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{folder}/rows")


def count_rows(key: Any, rows: pa.Table, state: Any) -> Any:
    """How many rows a key has had."""
    n = rows.num_rows + (state["n"] if state else 0)
    return [{"key": key, "n": n}], {"n": n}


def _operators(session: SparkSession, folder: str) -> Iterator[tuple[str, list[float], float]]:
    """Spark's own operators with state on the same stream: the seconds of their batches."""
    from unskew_lab.apps.keyed_state import APPLY, TRANSFORM, counted_by_spark

    for name, target in ((TRANSFORM, GAIN), (APPLY, APPLY_GAIN)):
        counted = counted_by_spark(_stream(session, folder), "key", name, 0.0)
        writer = counted.writeStream.format("noop").outputMode("update")
        query = writer.option("checkpointLocation", f"{folder}/{name}").start()
        try:
            while query.isActive and len(query.recentProgress) < OPERATOR_BATCHES:
                time.sleep(0.05)
            found = [each["durationMs"]["triggerExecution"] / 1000 for each in query.recentProgress]
        finally:
            query.stop()
        yield name, found[2:OPERATOR_BATCHES], target


def _fixed(session: SparkSession) -> Iterator[Measurement]:
    """What a batch takes that has hardly any work, beside plain SQL without state."""
    with tempfile.TemporaryDirectory() as folder:
        write_touched(Path(folder), FIXED_KEYS, FIXED_BATCHES)
        plain = statistics.median(_sql(session, folder)[2:])
        took = [each.seconds for each in _run(session, folder, None)]
        operators = list(_operators(session, folder))
    ours = statistics.median(took[2:])
    name = f"{FIXED_ROWS:,} rows on {TOUCHED:,} of {FIXED_KEYS:,} keys"
    yield Measurement(f"{name}: SQL without state", plain, 1.0, "itself", None)
    yield Measurement(f"{name}: stateful", ours, ours / plain, "SQL without state", SQL)
    yield Measurement(f"{name}: stateful", ours, ours / LAYERS, "state in DataFrames", BEFORE)
    for other, seconds, target in operators:
        yield Measurement(
            f"{name}: stateful", ours, ours / statistics.median(seconds), other, target
        )


def _sql(session: SparkSession, folder: str) -> list[float]:
    """Seconds of each batch of a plain aggregation."""
    times = []

    def write(batch: DataFrame, number: int) -> None:
        began = time.perf_counter()
        batch.groupBy("key").count().write.mode("overwrite").parquet(f"{folder}/sql/batch={number}")
        times.append(time.perf_counter() - began)

    writer = _stream(session, folder).writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", f"{folder}/sql-checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()
    return times


def _moving(session: SparkSession) -> Iterator[Measurement]:
    """Every second batch moves keys; the others do not."""
    for moved, target in MOVED.items():
        with tempfile.TemporaryDirectory() as folder:
            write_touched(Path(folder), FIXED_KEYS, FIXED_BATCHES)
            found = _run(session, folder, MoveSome(moved))[4:]
        usual = statistics.median([each.seconds for each in found if not each.migrated_keys])
        moving = [each for each in found if each.migrated_keys]
        seconds = statistics.median([each.seconds for each in moving])
        keys = statistics.median([each.migrated_keys for each in moving])
        price = 1e6 * max(0.0, seconds - usual) / keys
        name = f"a batch that moves {keys:,.0f} keys, {price:.0f} µs each"
        yield Measurement(name, seconds, seconds / usual, "a batch that moves none", target)


@dataclass(frozen=True)
class MoveSome:
    """A rebalancer that sends `count` keys away, and at the next interval home again."""

    count: int
    algorithm: ClassVar[str] = "move-some"

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Forecasts no load at all: a plan that gains nothing would not be carried out."""
        plan = Mixed(theta=0.0).rebalance(keys, current, workers)
        chosen = keys.keys[:0] if current.keys.size else keys.keys[: self.count]
        owners = (current.fallback.router().route(chosen) + 1) % workers
        table = RoutingTable(workers, chosen, owners.astype(np.int32), current.fallback)
        return replace(plan, table=table, loads=np.zeros(workers))


def _growing(session: SparkSession) -> Iterator[Measurement]:
    """The same rows a batch over more and more state."""
    base = 0.0
    for keys in STATE_SIZES:
        with tempfile.TemporaryDirectory() as folder:
            write_touched(Path(folder), keys, FIXED_BATCHES, all_first=True)
            found = [each.seconds for each in _run(session, folder, None)]
        # The first batch makes the state, the second takes it into the stores.
        seconds = statistics.median(found[3:])
        base = base or seconds
        target = GROWTH if keys == STATE_SIZES[-1] else None
        name = f"{keys:,} keys of state, {TOUCHED:,} touched"
        yield Measurement(name, seconds, seconds / base, f"{STATE_SIZES[0]:,} keys", target)


def _run(session: SparkSession, folder: str, mover: MoveSome | None) -> list[BatchProgress]:
    """What each batch did, with a Parquet folder as the sink."""
    from unskew.streaming import stateful

    stream = stateful(
        _stream(session, folder), "key", count_rows, schema="key string, n bigint",
        state_schema="n bigint", checkpoint=f"{folder}/state", workers=WORKERS, cost="rows",
        rebalancer=mover, theta=0.0, interval=2, payback=None,
    )  # fmt: skip
    stream.start(f"{folder}/output", availableNow=True).awaitTermination()
    return stream.progress


def write_touched(folder: Path, keys: int, batches: int, all_first: bool = False) -> None:
    """A file for each batch: rows of a few of the keys; of all of them in the first, if asked."""
    (folder / "rows").mkdir()
    draw = np.random.default_rng(1)
    for number in range(batches):
        chosen = draw.choice(draw.choice(keys, TOUCHED, replace=False), FIXED_ROWS)
        if all_first and not number:
            chosen = np.arange(keys)
        table = pa.table(
            {"key": pc.binary_join_element_wise("key", pa.array(chosen.astype(str)), "-")}
        )
        write_stream_file(table, folder / "rows", number)
