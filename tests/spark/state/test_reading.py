"""Readers of a checkpoint agree: they read the same commits and fall back to the same batch."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pytest
from pyspark.errors import PythonException
from pyspark.sql.types import StructType
from tests.spark.state.batches import CLASSIC, Driver

import unskew
from unskew._spark.stateful.commits import Commit
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.state_files import Storage
from unskew._spark.stateful.state_tables import table_of
from unskew._spark.stateful.stored_state import stored_state
from unskew.errors import StateError
from unskew.partitioners import RoutingTable
from unskew.streaming import read_state

pytestmark = [pytest.mark.spark, CLASSIC]


def test_state_that_moves_is_counted_by_worker(spark, tmp_path, caplog, monkeypatch):
    key, state = (StructType.fromDDL(each) for each in ("k string", "n int"))
    schema = StateSchema(("k",), key, state, state)
    storage = Storage(f"{tmp_path}/state")

    def log(through, **rows):
        content = {
            number: {} if value is None else {name.encode(): (name, None, {"n": value})}
            for name, (number, value) in rows.items()
        }
        return storage.write(table_of(content.items(), schema), "log", through)

    first = (log(4, a=(7, 1)), log(4, b=(1, 2), c=(2, 3)))
    second = (log(5, a=(7, 4)), log(5, c=(2, None)))
    table = RoutingTable(2, np.array([7], dtype=np.uint64), np.array([1], dtype=np.int32))
    commits = tmp_path / "state" / "commits"
    commits.mkdir()
    for batch, logs in ((4, [(each,) for each in first]), (5, [*zip(first, second, strict=True)])):
        commit = Commit(batch, "query", key.json(), state.json(), table, table, 0, tuple(logs))
        (commits / f"{batch:012d}.json").write_bytes(commit.to_bytes())
    found = unskew.diagnose_state(str(tmp_path), spark=spark)
    assert (found.kind, found.batch) == ("unskew", 5)
    assert [(store.unit, store.loads) for store in found.stores] == [
        ("rows", (1, 1)),
        ("bytes", (4, 4)),
    ]

    # A query that runs removes a file while the state is read.
    newer = dataclasses.replace(commit, batch=6).to_bytes()

    def compacted(*given):
        if not (commits / f"{6:012d}.json").exists():
            (commits / f"{6:012d}.json").write_bytes(newer)
            raise StateError("is missing")
        return stored_state(*given)

    with monkeypatch.context() as running:
        running.setattr("unskew._spark.diagnosis.state.stored_state", compacted)
        assert unskew.diagnose_state(str(tmp_path), spark=spark).batch == 6
    (commits / f"{6:012d}.json").unlink()

    # One reader of commits: what a restart and read_state fall back to is what is diagnosed.
    newest = commits / f"{5:012d}.json"
    newest.write_bytes(newest.read_bytes()[:40])
    with caplog.at_level(logging.WARNING, logger="unskew"):
        found = unskew.diagnose_state(str(tmp_path), spark=spark)
    assert "falling back to batch 4" in caplog.text
    assert found.batch == 4
    assert found.stores[0].total == read_state(spark, str(tmp_path)).count() == 3
    assert newest.exists()

    (commits / f"{4:012d}.json").write_bytes(b"")
    with pytest.raises(StateError, match="every commit in"):
        unskew.diagnose_state(str(tmp_path), spark=spark)


def test_a_read_of_state_that_a_query_has_removed_is_told_so(spark, tmp_path):
    driver = Driver(spark, tmp_path, {"merge_after": 1})
    run = driver.start(1)
    run(driver.frame([(1, "a", 1, 0.0)]), 0)
    early = read_state(spark, str(tmp_path))
    for batch in range(1, 8):
        run(driver.frame([(1, "a", 1, 0.0)]), batch)
    with pytest.raises(PythonException, match="after batch 0 is gone: the query went on"):
        early.collect()

    late = read_state(spark, str(tmp_path))
    for file in (tmp_path / "state" / "files").iterdir():
        file.unlink()
    with pytest.raises(PythonException, match="is missing"):
        late.collect()
