"""Keyed state that moves, beside state that stays by hash and Spark's own transformWithState.

Work is emulated: each row costs 0.2 ms of sleep, so sixteen slots work side by side on any machine.
The baseline is the bound: the longer of all work divided by the slots and the heaviest key's own,
plus what the same batches take when rows cost nothing.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from unskew.partitioners import RoutingTable
from unskew.rebalancing import KeyStatistics, Mixed, Rebalance
from unskew.workloads import ZipfStream
from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.session import new_session
from unskew_lab.stream_files import write_stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


def run() -> Iterator[Measurement]:
    """Skew that changes, growth of the state, the price of a move."""
    session = new_session(SLOTS)
    session.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    for exponent in SKEWS:
        yield from _drifting(session, exponent)
    yield from _growing(session)


def _drifting(session: SparkSession, exponent: float) -> list[Measurement]:
    """Throughput after adaptation: batches from the second after a change on."""
    with tempfile.TemporaryDirectory() as folder:
        counts = _write_stream(Path(folder), exponent)
        work = COST * max(ROWS / SLOTS, float(np.median(counts)))
        fixed = statistics.median(_ours(session, folder, "free", None, 0.0, most=5)[0][2:])
        bound = work + fixed
        name = f"zipf {exponent}"
        rows = [
            Measurement(
                f"{name}: bound, of it {fixed:.2f} s fixed cost", bound, 1.0, "itself", None
            )
        ]
        adapted = [n for n in range(BATCHES) if n % CHANGE >= 2]
        mixed, records = _ours(session, folder, "mixed", "mixed", COST)
        hashed, _ = _ours(session, folder, "hashing", None, COST)
        spark = _transform_with_state(session, folder)
        took = {
            label: statistics.mean([times[n] for n in adapted if n < len(times)])
            for label, times in (("mixed", mixed), ("hashing", hashed), ("spark", spark))
        }
        planning = sum(each.rebalance_seconds for each in records) / sum(mixed)
        compared = (
            (bound, "the bound", ADAPTED),
            (took["hashing"], "hashing", None),
            (took["spark"], "transformWithStateInPandas", GAIN),
        )
        ours, seconds = took["mixed"], planning * sum(mixed)
        return [
            *rows,
            *(
                Measurement(f"{name}: mixed", ours, ours / other, against, target)
                for other, against, target in compared
            ),
            Measurement(f"{name}: planning", seconds, planning, "all batches", PLANNING),
        ]


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
        write_stream_file(table, folder / "rows", batch)
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


def _growing(session: SparkSession) -> Iterator[Measurement]:
    """The same 20,000 rows a batch over more and more state, and one batch that moves keys."""
    base = 0.0
    for keys in STATE_SIZES:
        with tempfile.TemporaryDirectory() as folder:
            _write_numbers(Path(folder), [(0, keys), *((7 * n, TOUCHED) for n in range(1, 9))])
            mover = MoveOnce() if keys == STATE_SIZES[1] else None
            _, *others, last = _grown(session, folder, mover)
        seconds = statistics.median([each.seconds for each in others[1:]])
        base = base or seconds
        ratio, target = seconds / base, GROWTH if keys == STATE_SIZES[-1] else None
        yield Measurement(
            f"{keys:,} keys, {TOUCHED:,} touched", seconds, ratio, "10,000 keys", target
        )
        if mover is not None:
            yield _moving(last, seconds)


@dataclass(frozen=True)
class MoveOnce:
    """A rebalancer that moves `MOVED` keys, whatever the loads are."""

    algorithm: ClassVar[str] = "move-once"

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Forecasts level loads: a plan that gains nothing would not be carried out."""
        plan = Mixed(theta=0.0).rebalance(keys, current, workers)
        moved = keys.keys[:MOVED]
        owners = (np.arange(moved.size) % workers).astype(np.int32)
        table = RoutingTable(workers, moved, owners)
        return replace(plan, table=table, loads=np.full(workers, plan.mean))


def _moving(batch: BatchProgress, usual: float) -> Measurement:
    moved = batch.migrated_keys or 0
    each = max(0.0, batch.seconds - usual) / max(moved, 1)
    name = f"a batch that moves {moved:,} keys, {each * 1e6:.0f} µs each"
    against = "a batch that moves none"
    return Measurement(name, batch.seconds, batch.seconds / usual, against, None)


def _grown(session: SparkSession, folder: str, mover: MoveOnce | None) -> list[BatchProgress]:
    """What each batch did; the table is planned once, before the last one."""
    from unskew.streaming import stateful

    stream = stateful(
        _stream(session, folder), "key", _counting(0.0), schema="key string, n bigint",
        state_schema="n bigint", checkpoint=f"{folder}/state", workers=SLOTS, cost="rows",
        rebalancer=mover, theta=0.0, interval=8,
    )  # fmt: skip
    stream.start(_discard, availableNow=True).awaitTermination()
    return stream.progress


def _write_numbers(folder: Path, batches: Sequence[tuple[int, int]]) -> None:
    """A file for each batch: its first number, and how many keys it has from there on."""
    (folder / "rows").mkdir()
    for number, (start, count) in enumerate(batches):
        keys = np.char.add("key-", np.arange(start, start + count).astype(str))
        write_stream_file(pa.table({"key": keys}), folder / "rows", number)
