"""A task's groups: results are passed on before they add up, and a side may have no rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from unskew._spark.engine import bulk
from unskew._spark.engine.bulk import GroupTask, OneSide
from unskew._spark.engine.calls import ArrowCall, Side
from unskew._spark.engine.cutting import Limits
from unskew._spark.engine.group_frames import GroupFrames
from unskew._spark.engine.spark_rules import CallForm, WorkerSettings

SETTINGS = WorkerSettings(True, "UTC", False, False, False, False, Limits(100))
SCHEMA = StructType([StructField("k", LongType())])


def test_results_that_are_slices_do_not_keep_all_groups(monkeypatch):
    monkeypatch.setattr(bulk, "MOST_BYTES", 10_000)
    call = ArrowCall(lambda table: table.slice(0, 1), CallForm(False, False), SCHEMA, SETTINGS)
    read = []

    def batches():
        for key in range(40):
            read.append(key)
            yield pa.record_batch({"k": np.full(100, key)})

    results = GroupTask(OneSide(("k",), (0,), (0,)), call)(batches())
    first = next(results)
    assert len(read) < 20  # Not all groups are read before the first results leave.
    found = [key for batch in (first, *results) for key in batch.column(0).to_pylist()]
    assert found == list(range(40))


@pytest.mark.parametrize(
    "kind",
    [pa.int64(), pa.timestamp("us"), pa.list_(pa.timestamp("us")), pa.struct({"a": pa.int32()})],
    ids=str,
)
def test_a_side_without_rows_has_empty_frames(kind):
    rows = pa.table({"k": pa.chunked_array([], pa.string()), "x": pa.chunked_array([], kind)})
    frame = GroupFrames(Side(rows, np.array([0, 0])), SETTINGS).frame(0)
    assert (list(frame.columns), len(frame)) == (["k", "x"], 0)
