"""Readers of a checkpoint agree: they read the same commits and fall back to the same batch."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from pyspark.sql.types import StructType

import unskew
from unskew._spark.stateful.commits import Commit, LayerFile
from unskew.errors import StateError
from unskew.partitioners import RoutingTable
from unskew.streaming import read_state

pytestmark = pytest.mark.spark


def test_state_that_moves_is_counted_by_worker(spark, tmp_path, caplog):
    table = RoutingTable(2, np.array([7], dtype=np.uint64), np.array([1], dtype=np.int32))
    layer = (
        "hash bigint, key struct<k string>, version bigint, due bigint, bytes bigint, "
        "state struct<n int>"
    )
    for name, rows in {
        "layers/0": [(7, "a", 1, 10, 1), (1, "b", 1, 5, 2), (2, "c", 1, 5, 3)],
        "layers/1": [(7, "a", 3, 90, 4), (2, "c", 3, 0, None)],
    }.items():
        nested = [(h, (k,), v, None, b, None if n is None else (n,)) for h, k, v, b, n in rows]
        spark.createDataFrame(nested, layer).write.parquet(str(tmp_path / "state" / name))
    key, state = (StructType.fromDDL(each).json() for each in ("k string", "n int"))
    layers = (LayerFile("layers/0", 3), LayerFile("layers/1", 2))
    commits = tmp_path / "state" / "commits"
    commits.mkdir()
    for batch, count in ((4, 1), (5, 2)):
        commit = Commit(batch, "query", key, state, table, 0, layers[:count])
        (commits / f"{batch:012d}.json").write_bytes(commit.to_bytes())
    found = unskew.diagnose_state(str(tmp_path), spark=spark)
    assert (found.kind, found.batch) == ("unskew", 5)
    assert [(store.unit, store.loads) for store in found.stores] == [
        ("rows", (1, 1)),
        ("bytes", (5, 90)),
    ]

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
