"""A worker runs on the same machine in every batch: its state is there, and its speed is known.

On a cluster of processes: `pytest -m long tests/spark/test_staying.py`.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext, cloudpickle

import unskew
from unskew._spark.routing.slots import Pins, pinned_shuffle_conf

pytestmark = [pytest.mark.spark, pytest.mark.long]

WORKERS, BATCHES = 8, 4
PLACES = "worker bigint, machine bigint"


@pytest.fixture(scope="module")
def session(local_cluster):
    # The cluster's Python has unskew, and no tests.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    return local_cluster(4, slots=2).session({"spark.sql.adaptive.enabled": "false"})


def here() -> dict[str, int]:
    # The Python daemon of an executor is the parent of all its workers.
    return {"worker": TaskContext.get().partitionId(), "machine": os.getppid()}


class Where(unskew.streaming.Processor):
    """Tells where each key is processed."""

    def process(self, key, rows, state):
        return pa.table({name: [value] for name, value in here().items()}), {"n": 1}


def check(found):
    """The same machine for each worker in all batches, and work for all machines."""
    assert len(found) == WORKERS
    assert all(len(machines) == 1 for machines in found.values()), dict(found)
    assert len(set.union(*found.values())) == 4


def stream_of(session, folder, batches):
    """A stream that tells where its keys are processed, and a file for each of its batches."""
    (folder / "rows").mkdir()
    for number in range(batches):
        path = folder / "rows" / f"{number}.parquet"
        pq.write_table(pa.table({"key": [f"key-{each % 60}" for each in range(300)]}), path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    rows = session.readStream.schema("key string").option("maxFilesPerTrigger", 1)
    return unskew.streaming.stateful(
        rows.parquet(str(folder / "rows")),
        "key",
        Where(),
        schema=PLACES,
        state_schema="n bigint",
        workers=WORKERS,
        rebalancer=None,
        checkpoint=str(folder / "checkpoint"),
    )


def test_state_stays_with_its_worker(session, tmp_path):
    stream = stream_of(session, tmp_path, BATCHES)
    found = defaultdict(set)

    def note(output, batch):
        for row in output.collect():
            found[row.worker].add(row.machine)

    stream.start(note, availableNow=True).awaitTermination()
    assert len(stream.progress) == BATCHES
    check(found)


def test_state_stays_with_its_worker_when_another_comes(session, tmp_path):
    stream = stream_of(session, tmp_path, 2 * BATCHES)

    def note(output, batch):
        output.collect()
        if batch == BATCHES:
            stream.scale(WORKERS + 1)

    stream.start(note, availableNow=True).awaitTermination()
    assert [each.fetched_rows for each in stream.progress] == [0] * 2 * BATCHES


def test_pinned_workers_stay_on_their_machines(session):
    def where(batches):
        for _ in batches:
            yield pa.RecordBatch.from_pylist([here()])

    pins = Pins.of(session, WORKERS)
    found = defaultdict(set)
    with pinned_shuffle_conf(session, WORKERS):
        for _ in range(BATCHES):
            # All rows come from one task, after which every shuffle would send its readers.
            rows = session.range(0, 800, 1, 1).selectExpr("id", f"int(id % {WORKERS}) worker")
            for row in pins.place(rows, "worker").mapInArrow(where, PLACES).collect():
                found[row.worker].add(row.machine)
    check(found)
