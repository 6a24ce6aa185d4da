"""A task's memory: results are passed on before their groups add up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql.types import LongType, StructField, StructType

from unskew._spark.engine import bulk
from unskew._spark.engine.bulk import GroupTask, OneSide
from unskew._spark.engine.calls import ArrowCall
from unskew._spark.engine.cutting import Limits
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
