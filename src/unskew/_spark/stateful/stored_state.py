"""What a checkpoint holds, read as a restart reads it: the one reader of committed state."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from unskew._spark.frames.files import DamagedFileError, Files
from unskew._spark.stateful.commits import KEPT, Commit, CommitLog, commit_name
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.state_files import LEAST, MOST, Storage
from unskew._spark.stateful.state_tables import table_of
from unskew._spark.stateful.store import Store
from unskew._spark.stateful.worker_tables import row_bytes
from unskew.errors import StateError

Read = TypeVar("Read")

_AT_ONCE = 10_000  # Hashes.
_ATTEMPTS = 5


def last_commit(files: Files) -> Commit | None:
    """The newest intact commit; None if there is none."""
    return beside_query(files, lambda: CommitLog(files).last())


def beside_query(files: Files, read: Callable[[], Read]) -> Read:
    """What `read` returns; a query that runs may remove files while it reads, so it tries again."""
    for _ in range(_ATTEMPTS - 1):
        newest = CommitLog(files).newest()
        try:
            return read()
        except (StateError, PySparkException):
            # With no newer commit nothing was removed: what is missing is damage.
            if CommitLog(files).newest() == newest:
                raise
    return read()


def stored_state(spark: SparkSession, files: Files, commit: Commit) -> DataFrame:
    """`worker`, `key`, `state` and its `bytes` for every key that has state after `commit`."""
    schema = _schema(spark, commit)
    parts, storage, through = commit.files, Storage(files.folder), commit.batch

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for worker in (number for batch in batches for number in batch["id"].to_pylist()):
            with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "state") as store:
                try:
                    store.advance(parts[worker], through, storage, schema)
                except DamagedFileError:
                    _check_kept(through, storage)
                    raise
                yield from _rows(store, worker, schema)

    columns = [
        StructField("worker", LongType()),
        StructField("key", schema.key_type),
        StructField("state", schema.state),
        StructField("bytes", LongType()),
    ]
    workers = len(parts)
    return spark.range(0, workers, 1, workers).mapInArrow(read, StructType(columns))


def _check_kept(through: int, storage: Storage) -> None:
    """Raise if a query that runs has removed a commit: without it files are missing, not lost."""
    if not storage.exists(commit_name(through)):
        raise StateError(
            f"the state after batch {through} is gone: the query went on and removed it, {KEPT} "
            "batches later; read the state again and run an action at once: write it, or cache() "
            "and count() it"
        )


def _rows(store: Store, worker: int, schema: StateSchema) -> Iterator[pa.RecordBatch]:
    last = LEAST - 1
    while last < MOST:
        found = store.range(last + 1, _AT_ONCE)
        last = max(found) if len(found) == _AT_ONCE else MOST
        for batch in table_of(found.items(), schema).combine_chunks().to_batches():
            columns = {
                "worker": pa.array([worker] * batch.num_rows, pa.int64()),
                "key": batch["key"],
                "state": batch["state"],
                "bytes": pa.array(row_bytes(batch["state"])),
            }
            yield pa.RecordBatch.from_pydict(columns)


def _schema(spark: SparkSession, commit: Commit) -> StateSchema:
    key, state = (StructType.fromJson(json.loads(each)) for each in (commit.key, commit.state))
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    return StateSchema(tuple(key.names), key, state, state, zone=zone)
