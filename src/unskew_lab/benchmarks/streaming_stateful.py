"""What a batch with keyed state takes that has hardly any work: fixed costs, moves, much state."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
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
    from pyspark.sql.streaming.query import StreamingQuery

    from unskew.streaming import BatchProgress, StatefulStream

GROWTH = 1.2
WORKERS, TOUCHED, FIXED_ROWS = 8, 8_000, 20_000
FIXED_KEYS, FIXED_BATCHES = 100_000, 16
SQL, BEFORE, GAIN, APPLY_GAIN = 3.0, 0.4, 0.2, 0.5
MOST_JOBS, MOST_STAGES = 1, 3
OPERATOR_BATCHES = 5
LAYERS = 1.87
"""Seconds of the same batch when state was in DataFrames: on two cores, in one JVM."""
STATE_SIZES = (10_000, 1_000_000, 10_000_000)
MOVED = {100: 1.1, 5_000: 1.3}
"""Keys that a batch moves, and the longest that it may take, relative to one that moves none."""
MOVED_EVERY, MOVING_BATCHES = 4, 24
PRICE = 60e-6
"""Seconds that a moved key may take, of which the batch that takes it in has its part."""
EARLY, LATE, AROUND = 5, 50, 2
"""Batches that are compared at constant load, and those on either side that count with each."""
DRIFT, LONGEST = 1.1, 1.5


def _session() -> SparkSession:
    from unskew_lab.apps.keyed_state import STORE

    session = new_session(2)
    for name, value in STORE.items():
        session.conf.set(name, value)
    return session


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
            found = _triggers(query)
        finally:
            query.stop()
        yield name, found[2:OPERATOR_BATCHES], target


def _triggers(query: StreamingQuery) -> list[float]:
    """Seconds of each batch as Spark measures them: with its own part of the work."""
    return [
        each["durationMs"]["triggerExecution"] / 1000
        for each in query.recentProgress
        if each["numInputRows"]
    ]


def fixed() -> Iterator[Measurement]:
    """What a batch takes that has hardly any work, beside plain SQL without state."""
    session = _session()
    with tempfile.TemporaryDirectory() as folder:
        write_touched(Path(folder), FIXED_KEYS, FIXED_BATCHES, all_first=True)
        plain = statistics.median(sql_seconds(session, folder, "sql")[2:])
        stream = _stateful(session, folder)
        query = stream.start(f"{folder}/output", availableNow=True)
        query.awaitTermination()
        jobs, stages = _jobs(session, query)
        operators = list(_operators(session, folder))
    ours = statistics.median([each.seconds for each in stream.progress[2:]])
    trigger = statistics.median(_triggers(query)[2:])
    name = f"{FIXED_ROWS:,} rows on {TOUCHED:,} of {FIXED_KEYS:,} keys"
    yield Measurement(f"{name}: SQL without state", plain, 1.0, "itself", None)
    yield Measurement(f"{name}: stateful", ours, ours / plain, "SQL without state", SQL)
    yield Measurement(f"{name}: stateful", ours, ours / LAYERS, "state in DataFrames", BEFORE)
    yield Measurement(f"{name}: jobs", 0.0, jobs / FIXED_BATCHES, "batches", MOST_JOBS)
    yield Measurement(f"{name}: stages", 0.0, stages / FIXED_BATCHES, "batches", MOST_STAGES)
    for other, seconds, target in operators:
        ratio = trigger / statistics.median(seconds)
        yield Measurement(f"{name}: stateful, the trigger", trigger, ratio, other, target)


def _jobs(session: SparkSession, query: StreamingQuery) -> tuple[int, int]:
    """How many jobs a query ran, and how many stages."""
    tracker = session.sparkContext.statusTracker()
    jobs = tracker.getJobIdsForGroup(str(query.runId))
    infos = [tracker.getJobInfo(job) for job in jobs]
    return len(jobs), sum(len(info.stageIds) for info in infos if info is not None)


def sql_seconds(session: SparkSession, folder: str, name: str) -> list[float]:
    """Seconds of each batch of a plain aggregation, which writes to a folder of this name."""
    times = []

    def write(batch: DataFrame, number: int) -> None:
        began = time.perf_counter()
        batch.groupBy("key").count().write.mode("overwrite").parquet(
            f"{folder}/{name}/batch={number}"
        )
        times.append(time.perf_counter() - began)

    writer = _stream(session, folder).writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", f"{folder}/{name}-checkpoint")
    writer.trigger(availableNow=True).start().awaitTermination()
    return times


def moves() -> Iterator[Measurement]:
    """Every fourth batch moves keys, the one after it takes them in, and the others do neither."""
    session = _session()
    for moved, target in MOVED.items():
        with tempfile.TemporaryDirectory() as folder:
            write_touched(Path(folder), FIXED_KEYS, MOVING_BATCHES, all_first=True)
            found = _run(session, folder, MoveSome(moved))
        places = [place for place, each in enumerate(found[:-1]) if each.migrated_keys]
        busy = {*places, *(place + 1 for place in places)}
        usual = _median(
            [each for place, each in enumerate(found) if place > 2 and place not in busy]
        )
        moving, intake = (_median([found[at + after] for at in places]) for after in (0, 1))
        keys = statistics.median([found[at].migrated_keys for at in places])
        name = f"a batch that moves {keys:,.0f} keys"
        yield Measurement(name, moving, moving / usual, "a batch that moves none", target)
    price = max(0.0, moving + intake - 2 * usual) / keys
    yield Measurement("a moved key, in both batches", price, price / PRICE, "60 µs", 1.0)


def lasting() -> Iterator[Measurement]:
    """Many batches of the same load: none may grow longer, and none be long."""
    session = _session()
    with tempfile.TemporaryDirectory() as folder:
        write_touched(Path(folder), FIXED_KEYS, LATE + AROUND + 1, all_first=True)
        found = _run(session, folder, None)
    early, late = (_median(found[at - AROUND : at + AROUND + 1]) for at in (EARLY, LATE))
    name = f"{TOUCHED:,} of {FIXED_KEYS:,} keys a batch"
    yield Measurement(f"{name}: batch {LATE}", late, late / early, f"batch {EARLY}", DRIFT)
    longest = max(each.seconds for each in found[EARLY - AROUND :])
    usual = _median(found[EARLY - AROUND :])
    yield Measurement(f"{name}: the longest batch", longest, longest / usual, "the median", LONGEST)


def _median(found: Sequence[BatchProgress]) -> float:
    return statistics.median([each.seconds for each in found])


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


def growth() -> Iterator[Measurement]:
    """The same rows a batch over more and more state."""
    session = _session()
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
    stream = _stateful(session, folder, mover)
    stream.start(f"{folder}/output", availableNow=True).awaitTermination()
    return stream.progress


def _stateful(session: SparkSession, folder: str, mover: MoveSome | None = None) -> StatefulStream:
    from unskew.streaming import stateful

    return stateful(
        _stream(session, folder), "key", count_rows, schema="key string, n bigint",
        state_schema="n bigint", checkpoint=f"{folder}/state", workers=WORKERS, cost="rows",
        rebalancer=mover, theta=0.0, interval=MOVED_EVERY, payback=None,
    )  # fmt: skip


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
