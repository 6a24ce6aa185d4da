"""Keyed state that moves, beside state that stays by hash and Spark's own transformWithState.

Work is emulated: each row costs 0.2 ms of sleep, so sixteen slots work side by side on any machine.
The yardstick is the bound: the longer of all work divided by the slots and the heaviest key's own,
plus what the same batches take when rows cost nothing.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.workloads import ZipfStream
from unskew_lab.benchmarks.measuring import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from unskew._spark.stateful.run import StateRun
    from unskew.streaming import BatchProgress

SLOTS = 16
COST = 0.0002
ROWS, KEYS = 60_000, 20_000
BATCHES, CHANGE = 20, 10
SKEWS = (0.8, 1.2)
ADAPTED, GAIN, GROWTH, PLANNING = 1.25, 0.5, 2.0, 0.1
STATE_SIZES = (10_000, 100_000, 1_000_000)
TOUCHED = 20_000
MOVED = 5_000


def run() -> Iterator[Row]:
    """Skew that changes, growth of the state, the price of a move."""
    from pyspark.sql import SparkSession

    from unskew._spark.session import local_session

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()  # It may have any number of slots.
    session = local_session(SLOTS, SLOTS)
    session.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    for exponent in SKEWS:
        yield from _drifting(session, exponent)
    yield from _growing(session)


def _drifting(session: SparkSession, exponent: float) -> list[Row]:
    """Throughput after adaptation: batches from the second after a change on."""
    with tempfile.TemporaryDirectory() as folder:
        counts = _write_stream(Path(folder), exponent)
        work = COST * max(ROWS / SLOTS, float(np.median(counts)))
        fixed = statistics.median(_ours(session, folder, "free", None, 0.0, most=5)[0][2:])
        bound = work + fixed
        name = f"zipf {exponent}"
        rows = [Row(f"{name}: bound, of it {fixed:.2f} s fixed cost", bound, 1.0, "itself", None)]
        adapted = [n for n in range(BATCHES) if n % CHANGE >= 2]
        mixed, records = _ours(session, folder, "mixed", "mixed", COST)
        hashed, _ = _ours(session, folder, "hashing", None, COST)
        spark = _transform_with_state(session, folder)
        took = {
            label: statistics.mean([times[n] for n in adapted if n < len(times)])
            for label, times in (("mixed", mixed), ("hashing", hashed), ("spark", spark))
        }
        planning = sum(each.rebalance_seconds for each in records) / sum(mixed)
        return [
            *rows,
            Row(f"{name}: mixed", took["mixed"], took["mixed"] / bound, "the bound", ADAPTED),
            Row(f"{name}: mixed", took["mixed"], took["mixed"] / took["hashing"], "hashing", None),
            Row(f"{name}: mixed", took["mixed"], took["mixed"] / took["spark"],
                "transformWithStateInPandas", GAIN),
            Row(f"{name}: planning", planning * sum(mixed), planning, "all batches", PLANNING),
        ]  # fmt: skip


def _write_stream(folder: Path, exponent: float) -> list[int]:
    """One file a batch; returns the rows of the heaviest key in each."""
    (folder / "rows").mkdir()
    ids = np.concatenate(list(ZipfStream(exponent, KEYS, ROWS * BATCHES, 42).ids()))
    heaviest = []
    for batch in range(BATCHES):
        part = ids[batch * ROWS : (batch + 1) * ROWS]
        heaviest.append(int(np.bincount(part).max()))
        # Other keys are hot after a change.
        keys = (part + (batch // CHANGE) * (KEYS // 2)) % KEYS
        table = pa.table({"key": np.char.add("key-", keys.astype(str))})
        pq.write_table(table, folder / "rows" / f"{batch:04d}.parquet")
    return heaviest


def _stream(session: SparkSession, folder: str) -> DataFrame:
    reader = session.readStream.schema("key string").option("maxFilesPerTrigger", 1)
    return reader.parquet(f"{folder}/rows")


def _counting(cost: float) -> Callable[[Any, pa.Table, Any], Any]:
    def count(key: Any, rows: pa.Table, state: Any) -> Any:
        time.sleep(cost * rows.num_rows)
        n = rows.num_rows + (state["n"] if state else 0)
        return [{"key": key, "n": n}], {"n": n}

    return count


def _ours(
    session: SparkSession,
    folder: str,
    name: str,
    rebalancer: str | None,
    cost: float,
    most: int = BATCHES,
) -> tuple[list[float], list[BatchProgress]]:
    """Seconds of each batch."""
    from unskew.streaming import stateful

    stream = stateful(
        _stream(session, folder), "key", _counting(cost), schema="key string, n bigint",
        state_schema="n bigint", checkpoint=f"{folder}/{name}", workers=SLOTS,
        rebalancer=rebalancer,
    )  # fmt: skip
    query = stream.start(_discard)
    try:
        while query.isActive and len(stream.progress) < most:
            time.sleep(0.05)
    finally:
        query.stop()
    return [each.seconds for each in stream.progress], stream.progress


def _discard(output: DataFrame, batch: int) -> None:
    output.write.format("noop").mode("overwrite").save()


def _transform_with_state(session: SparkSession, folder: str) -> list[float]:
    """Spark's own operator on the same stream; seconds of each batch up to the first change."""
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Count(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.n = handle.getValueState("n", "n bigint")

        def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Any:  # noqa: N802
            count = 0
            for frame in rows:
                time.sleep(COST * len(frame))
                count += len(frame)
            total = count + (self.n.get()[0] if self.n.exists() else 0)
            self.n.update((total,))
            yield pd.DataFrame({"key": [key[0]], "n": [total]})

        def close(self) -> None:
            pass

    counted = (
        _stream(session, folder)
        .groupBy("key")
        .transformWithStateInPandas(Count(), "key string, n bigint", "append", "none")
    )
    writer = counted.writeStream.format("noop").outputMode("append")
    query = writer.option("checkpointLocation", f"{folder}/spark").start()
    try:
        while query.isActive and len(query.recentProgress) < 4:
            time.sleep(0.05)
        found = [each["durationMs"]["triggerExecution"] / 1000 for each in query.recentProgress]
    finally:
        query.stop()
    return found


def _growing(session: SparkSession) -> Iterator[Row]:
    """The same 20,000 rows a batch over more and more state."""
    base = 0.0
    for keys in STATE_SIZES:
        with tempfile.TemporaryDirectory() as folder:
            batches = _run(session, folder)
            batches(_numbers(session, 0, keys), 0)
            times = [_timed(batches, _numbers(session, 7 * n, TOUCHED), n) for n in range(1, 8)]
            seconds = statistics.median(times[1:])
            base = base or seconds
            ratio, target = seconds / base, GROWTH if keys == STATE_SIZES[-1] else None
            yield Row(f"{keys:,} keys, {TOUCHED:,} touched", seconds, ratio, "10,000 keys", target)
            if keys == STATE_SIZES[1]:
                yield _moving(session, batches, seconds, 8)


def _moving(session: SparkSession, batches: StateRun, usual: float, number: int) -> Row:
    from unskew.partitioners import RoutingTable

    known = batches.controller.statistics()
    assert known is not None
    keys = known.keys[:MOVED]
    owners = (np.arange(keys.size) % SLOTS).astype(np.int32)
    batches.table = RoutingTable(SLOTS, keys, owners)
    seconds = _timed(batches, _numbers(session, 0, TOUCHED), number)
    moved = batches.progress[-1].migrated_keys
    each = max(0.0, seconds - usual) / max(moved, 1)
    return Row(f"a batch that moves {moved:,} keys, {each * 1e6:.0f} µs each", seconds,
               seconds / usual, "a batch that moves none", None)  # fmt: skip


def _run(session: SparkSession, folder: str) -> StateRun:
    from unskew._spark.stateful.files import Files
    from unskew._spark.stateful.run import StateRun
    from unskew.streaming import stateful

    stream = stateful(
        session.readStream.schema("key string").parquet(folder), "key", _counting(0.0),
        schema="key string, n bigint", state_schema="n bigint", checkpoint=folder, workers=SLOTS,
        rebalancer=None,
    )  # fmt: skip
    session.sparkContext.setLocalProperty("sql.streaming.queryId", folder)
    files = Files(session, f"{folder}/state"), Files(session, f"{folder}/spark")
    return StateRun(stream.work, *files, _discard)


def _numbers(session: SparkSession, start: int, count: int) -> DataFrame:
    return session.range(start, start + count).selectExpr("concat('key-', id) key")


def _timed(batches: StateRun, rows: DataFrame, number: int) -> float:
    batches(rows, number)
    return batches.progress[-1].seconds
