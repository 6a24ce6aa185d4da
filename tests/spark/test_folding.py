"""Rows folded into states: the same however rows are cut into batches, and never all in memory."""

from __future__ import annotations

import pickle
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from unskew._spark.engine import folding
from unskew._spark.engine.aggregate_functions import States
from unskew._spark.engine.bulk import GroupTask, OneSide
from unskew._spark.engine.cutting import Limits
from unskew._spark.engine.folding import FoldTask
from unskew._spark.engine.spark_rules import WorkerSettings
from unskew._spark.engine.state_calls import FoldCall

SETTINGS = WorkerSettings(True, "UTC", False, False, False, False, Limits(100))
LAYOUT = OneSide(("value", "key"), (1,), (1,))
RESULTS = StructType([StructField("0", LongType())])
SCHEMA = StructType(
    [
        StructField("k0", LongType()),
        StructField("state", BinaryType()),
        StructField("results", RESULTS),
    ]
)


class Total:
    """A sum, with the most rows that it was given at once."""

    columns = ("value",)

    def zero(self) -> Any:
        return 0, 0

    def add(self, state: Any, rows: pa.RecordBatch) -> Any:
        return self.merge(state, (pc.sum(rows.column(0)).as_py() or 0, rows.num_rows))

    def merge(self, state: Any, other: Any) -> Any:
        return state[0] + other[0], max(state[1], other[1])

    def result(self, state: Any) -> Any:
        return state[0]


CALL = FoldCall(States((Total(),), ("value",), RESULTS, ([0],)), (0,), SCHEMA, SETTINGS)


def found(called):
    """Key, sum and the most rows at once of each group, with the key of its first row."""
    groups = []
    for results, heads in called:
        states = [pickle.loads(state)[0] for state in results.rows["state"].to_pylist()]
        keys = results.rows["k0"].to_pylist()
        assert results.counts == [1] * len(keys)
        assert heads.column(1).to_pylist() == keys
        groups += [(key, *state) for key, state in zip(keys, states, strict=True)]
    return groups


def cut(rows: pa.RecordBatch, places: list[int]) -> list[pa.RecordBatch]:
    bounds = sorted({0, rows.num_rows, *(place % (rows.num_rows + 1) for place in places)})
    return [rows.slice(a, b - a) for a, b in pairwise(bounds)]


keyed = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.integers(-9, 9)))


@given(rows=keyed, places=st.lists(st.integers(0, 100), max_size=6), most=st.integers(1, 4))
def test_every_key_has_the_state_of_all_its_rows(rows, places, most):
    expected: dict[Any, int] = defaultdict(int)
    for key, value in rows:
        expected[key] += value
    rows.sort(key=lambda row: (row[0] is not None, row[0] or 0))  # Nulls first, as Spark sorts.
    values, keys = [value for _, value in rows], [key for key, _ in rows]
    batch = pa.record_batch(
        {"value": pa.array(values, pa.int64()), "key": pa.array(keys, pa.int64())}
    )
    usual = folding.MOST_ROWS
    folding.MOST_ROWS = most
    try:
        groups = found(FoldTask(LAYOUT, CALL).results(iter(cut(batch, places))))
    finally:
        folding.MOST_ROWS = usual
    assert [key for key, *_ in groups] == list(dict.fromkeys(keys))
    assert {key: total for key, total, _ in groups} == expected
    in_bulk = found(GroupTask(LAYOUT, CALL).results(iter([batch])))
    assert [group[:2] for group in in_bulk] == [group[:2] for group in groups]


def test_a_group_is_never_in_memory_as_a_whole():
    read = []

    def batches():
        for number in range(50):
            read.append(number)
            yield pa.record_batch({"value": [1] * 10, "key": [7] * 10})

    assert found(FoldTask(LAYOUT, CALL).results(batches())) == [(7, 500, 10)]
    assert len(read) == 50
