"""Keyed state on three executors: what a batch takes, and what is fetched when places change."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.benchmarks.streaming_stateful import (
    WORKERS,
    count_rows,
    sql_seconds,
    write_touched,
)
from unskew_lab.session import new_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from unskew.streaming import BatchProgress, StatefulStream

KEYS, BATCHES, FIRST = 1_000_000, 20, 3
LOST, GREW = 9, 14
"""The batches after which an executor is killed and a worker is added."""
CLUSTER, BACK = 1.5, 1.2
LOST_SHARE, GREW_SHARE = 0.5, 0.2
"""The most that may be fetched or handed over, relative to all state: a third or so is lost with
one of three executors, and a ninth goes to a ninth worker."""


def run() -> Iterator[Measurement]:
    """One process with two slots, then a cluster; an executor is lost and a worker added there."""
    from pyspark.sql import SparkSession

    from unskew.testing import LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        write_touched(Path(folder), KEYS, BATCHES, all_first=True)
        session = new_session(2)
        local_sql = statistics.median(sql_seconds(session, folder, "local-sql")[FIRST:])
        local = _usual(_followed(session, folder, "local"))
        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()
        with LocalCluster(3, memory=1024) as cluster:
            session = cluster.session()
            sql = statistics.median(sql_seconds(session, folder, "cluster-sql")[FIRST:])
            found = _followed(session, folder, "cluster", cluster.kill_an_executor)
    name = f"{KEYS:,} keys of state on three executors"
    usual = _usual(found[: LOST + 1])
    yield Measurement(name, usual, usual / local, "one process", CLUSTER)
    plain = "SQL without state on three executors"
    yield Measurement(plain, sql, sql / local_sql, "one process", None)
    yield Measurement(name, usual, usual / sql, plain, None)
    for label, first, last, most in (
        ("an executor is lost", LOST + 1, GREW + 1, LOST_SHARE),
        (f"{WORKERS} to {WORKERS + 1} workers", GREW + 1, BATCHES, GREW_SHARE),
    ):
        part = found[first:last]
        rows = sum(each.fetched_rows for each in part)
        moved = sum(each.migrated_keys or 0 for each in part)
        share = (rows + moved) / KEYS
        said = f"{name}: {label}, {rows:,} rows fetched, {moved:,} keys moved"
        yield Measurement(said, sum(each.seconds for each in part), share, "all state", most)
        after = part[_settled(part)].seconds
        yield Measurement(f"{name}: {label}, the batch after", after, after / usual, "before", BACK)


def _settled(part: list[BatchProgress]) -> int:
    """The first batch that neither fetches state nor takes in what moved, nor does one after it."""
    busy = [
        place + bool(each.migrated_keys)
        for place, each in enumerate(part)
        if each.migrated_keys or each.fetched_rows > KEYS // 100
    ]
    return min(max(busy, default=-1) + 1, len(part) - 1)


def _usual(found: list[BatchProgress]) -> float:
    return statistics.median([each.seconds for each in found[FIRST:]])


def _followed(
    session: SparkSession, folder: str, name: str, lose: Callable[[], object] | None = None
) -> list[BatchProgress]:
    from unskew.streaming import stateful

    reader = session.readStream.schema("key string").option("maxFilesPerTrigger", 1)
    stream: StatefulStream = stateful(
        reader.parquet(f"{folder}/rows"), "key", count_rows, schema="key string, n bigint",
        state_schema="n bigint", checkpoint=f"{folder}/{name}", workers=WORKERS, rebalancer=None,
    )  # fmt: skip
    disturbed = set()

    def discard(output: DataFrame, batch: int) -> None:
        if lose is not None and batch == LOST + 1 and batch not in disturbed:
            disturbed.add(batch)
            lose()
        if lose is not None and batch == GREW:
            stream.scale(WORKERS + 1)
        output.write.format("noop").mode("overwrite").save()

    stream.start(discard, availableNow=True).awaitTermination()
    return list(stream.progress)
