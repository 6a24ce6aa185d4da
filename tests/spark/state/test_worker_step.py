"""One worker without Spark: what a processor is given, and what becomes of what it returns."""

from __future__ import annotations

import dataclasses
import datetime
import math
import os
import tempfile
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from unskew._spark.frames.schemas import arrow_type
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.processor import FunctionProcessor, Processor
from unskew._spark.stateful.reports import MOST_KEYS, WorkerReport, progress_of
from unskew._spark.stateful.state_files import Storage
from unskew._spark.stateful.state_tables import identities, table_of
from unskew._spark.stateful.worker_step import Touched, WorkerStep
from unskew._spark.stateful.worker_tables import row_bytes
from unskew._spark.stateful.worker_task import WorkerTask
from unskew.errors import SchemaError
from unskew.partitioners import RoutingTable

SECOND = 1_000_000


def struct(**fields):
    return StructType([StructField(name, kind) for name, kind in fields.items()])


def schema_of(key=("word",), event_time=None) -> StateSchema:
    rows = struct(id=LongType(), word=StringType(), number=DoubleType(), at=TimestampType())
    state = struct(n=LongType(), seen=StringType())
    return StateSchema(key, rows, state, struct(word=StringType(), n=LongType()), event_time)


def rows_of(schema: StateSchema, rows: list[dict]) -> list[pa.RecordBatch]:
    full = [{"id": None, "word": None, "number": None, "at": None, **row} for row in rows]
    packed = pa.array(full, arrow_type(schema.rows))
    # All keys share one hash: it must not matter.
    hashes = pa.array([9] * len(rows), pa.int64())
    return [pa.record_batch({"hash": hashes, "row": packed})] if rows else []


def history(storage: Storage, schema: StateSchema, states: list[dict]) -> tuple:
    """A log for each version: what the hash of all keys had then."""
    held, files = {}, []
    for version in sorted({state["version"] for state in states}):
        for state in (each for each in states if each["version"] == version):
            values = list(state["key"].values())
            columns = [
                pa.array([value], arrow_type(schema.rows[name].dataType))
                for name, value in state["key"].items()
            ]
            [name] = identities(columns)
            key = values[0] if len(values) == 1 else tuple(values)
            held[name] = (key, state.get("due"), state["state"])
            if state["state"] is None:
                del held[name]
        files.append(storage.write(table_of([(9, held)], schema), "log", version))
    return tuple(files)


def run(processor, schema, rows, states=(), *, batch=7, now=None, timeout=None, form="arrow"):
    """What is in the log, the output, and the report of worker 1."""
    if not isinstance(processor, Processor):
        processor = FunctionProcessor(processor)
    step = WorkerStep(processor, schema, form, batch, now, timeout)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, SPARK_LOCAL_DIRS=f"{folder}/local"),
    ):
        storage = Storage(f"{folder}/state")
        files = history(storage, schema, list(states))
        task = WorkerTask(step, "query/run", storage, ((), files), None, 1000, "", None)
        output, report = task.run(1, rows_of(schema, rows))
        logs = [pa.Table.from_batches(storage.read(each.file)) for each in report.totals.written]
    kept = [row for log in logs for row in log.to_pylist()]
    report = WorkerReport.from_bytes(report.to_bytes())
    return kept, [row for each in output for row in each.to_pylist()], report


def counting(key, rows, state):
    n = rows.num_rows + (state["n"] if state else 0)
    return [{"word": str(key), "n": n}], {"n": n, "seen": str(key)}


words = st.none() | st.sampled_from(["a", "b", "", "Ω"])
numbers = st.none() | st.sampled_from([0.0, -0.0, math.nan, 1.5])


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(words, numbers), max_size=12),
    states=st.lists(st.tuples(words, numbers, st.integers(0, 6)), max_size=8),
)
def test_each_key_meets_its_newest_state(rows, states):
    schema = schema_of(key=("word", "number"))

    def name(word, number):
        return (word, "nan" if number is not None and math.isnan(number) else number)

    held = [
        {"key": {"word": w, "number": x}, "version": v, "state": {"n": 100 * v, "seen": ""}}
        for w, x, v in states
    ]
    kept, output, report = run(counting, schema, [{"word": w, "number": x} for w, x in rows], held)
    expected: dict = {}
    for w, x in rows:
        versions = [v for sw, sx, v in states if name(sw, sx) == name(w, x)]
        start = 100 * max(versions) if versions else 0
        expected[name(w, x)] = expected.get(name(w, x), start) + 1
    bystanders = {name(w, x): 0 for w, x, _ in states} if rows else {}
    for w, x, v in states if rows else []:
        bystanders[name(w, x)] = max(bystanders[name(w, x)], 100 * v)
    held = {name(**row["key"]): row["state"]["n"] for row in kept}
    assert held == bystanders | expected
    assert all(row["hash"] == 9 for row in kept)
    assert sorted(row["n"] for row in output) == sorted(expected.values())
    assert report.totals.rows == len(rows)
    assert report.totals.keys == len(expected)


def test_a_single_key_column_is_a_value_and_several_are_a_tuple():
    seen = []

    def look(key, rows, state):
        seen.append(key)
        return None, None

    run(look, schema_of(), [{"word": "a"}, {"word": None}])
    run(look, schema_of(key=("word", "id")), [{"word": "a", "id": 3}])
    assert seen == ["a", None, ("a", 3)]


@pytest.mark.parametrize(
    "given_rows",
    [
        lambda: [{"word": "x", "n": 1}],
        lambda: pd.DataFrame({"n": [1], "word": ["x"]}),
        lambda: pa.table({"n": pa.array([1], pa.int32()), "word": ["x"]}),
        lambda: pa.record_batch({"word": ["x"], "n": [1]}),
    ],
)
def test_output_comes_in_any_form(given_rows):
    _, output, _ = run(lambda key, rows, state: (given_rows(), None), schema_of(), [{"word": "x"}])
    assert output == [{"word": "x", "n": 1}]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (([{"word": "x"}], None), "a row of the output has the fields word"),
        ((pa.table({"m": [1]}), None), "the output has the fields m"),
        (("text", None), "rows as str"),
        ((None, {"n": 1}), "the state has the fields n"),
        ((None, [1]), "its state as list"),
        (None, "returned NoneType; return a tuple of two"),
        ([{"word": "x", "n": 1}], "returned list; return a tuple of two"),
        ((None, None, None), "returned tuple; return a tuple of two"),
        (([1], None), "a row of the output as int"),
        (([{"word": 5, "n": 1}], None), "output that is no struct<word: string, n: int64>"),
        (([{"word": "x", "n": 1 << 70}], None), "output that is no struct"),
        ((pd.DataFrame({"word": ["x"], "n": ["y"]}), None), "output that is no struct"),
        ((pa.table({"word": ["x"], "n": ["y"]}), None), "output that is no struct"),
        ((None, {"n": "y", "seen": ""}), "a state that is no struct<n:bigint,seen:string>"),
        ((None, {"n": 1 << 70, "seen": ""}), "a state that is no struct"),
    ],
)
def test_results_of_another_shape_are_refused(result, message):
    with pytest.raises(SchemaError, match=message):
        run(lambda key, rows, state: result, schema_of(), [{"word": "x"}])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (([{"word": "x", "n": None}], None), "a row of the output whose n is null"),
        ((pa.table({"word": ["x"], "n": pa.array([None], pa.int64())}), None), "non-nullable"),
        ((None, {"n": None, "seen": ""}), "a state whose n is null"),
    ],
)
def test_nulls_are_refused_where_the_schema_has_none(result, message):
    needed = StructField("n", LongType(), nullable=False)
    state = StructType([needed, StructField("seen", StringType())])
    output = StructType([StructField("word", StringType()), needed])
    schema = dataclasses.replace(schema_of(), state=state, output=output)
    held = [{"key": {"word": "x"}, "version": 3, "state": {"n": 5, "seen": "abc"}}]
    kept, _, _ = run(lambda key, rows, state: (None, None), schema, [{"word": "x"}], held)
    assert [row["state"] for row in kept] == [None]  # A tombstone has no values to be null.
    with pytest.raises(SchemaError, match=message):
        run(lambda key, rows, state: result, schema, [{"word": "x"}], held)


def test_pandas_rows_and_initial_state():
    class Last(Processor):
        def init(self, key):
            return {"n": 10, "seen": "init"}

        def process(self, key, rows, state):
            assert isinstance(rows, pd.DataFrame)
            return None, {**state, "n": state["n"] + len(rows)}

    kept, output, _ = run(Last(), schema_of(), [{"word": "a"}] * 3, form="pandas")
    assert kept[0]["state"] == {"n": 13, "seen": "init"}
    assert output == []


def test_state_none_leaves_a_tombstone_without_bytes():
    held = [{"key": {"word": "a"}, "version": 3, "state": {"n": 5, "seen": "abc"}}]
    [kept], _, report = run(lambda k, r, s: (None, None), schema_of(), [{"word": "a"}], held)
    assert (kept["hash"], kept["state"]) == (9, None)
    assert report.memory.tolist() == [0]


class Timed(Processor):
    def process(self, key, rows, state):
        n = rows.num_rows + (state["n"] if state else 0)
        return [{"word": f"rows {rows['id'].to_pylist()}", "n": n}], {"n": n, "seen": ""}

    def on_timer(self, key, state, now):
        keep = None if state["n"] < 50 else {**state, "n": 1}
        return [{"word": f"timer {now.isoformat()}", "n": state["n"]}], keep


def at(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)


def test_rows_come_in_event_time_and_late_ones_not_at_all():
    schema = schema_of(event_time="at")
    rows = [
        {"id": 1, "word": "a", "at": at(30)},
        {"id": 2, "word": "a", "at": at(19)},
        {"id": 3, "word": "a", "at": at(25)},
        {"id": 4, "word": "a", "at": None},
        {"id": 5, "word": "late", "at": at(1)},
    ]
    [kept], output, report = run(Timed(), schema, rows, now=20 * SECOND, timeout=10 * SECOND)
    assert output == [{"word": "rows [4, 3, 1]", "n": 3}]
    assert kept["due"] == 40 * SECOND
    assert report.totals.late == 2
    assert report.totals.newest == 30 * SECOND
    assert progress_of(7, [report], "rows", RoutingTable(1), 0.0, 0.0).late == 2


def test_a_time_out_passes_before_the_rows_that_come_after_it():
    schema = schema_of(event_time="at")
    held = [
        {"key": {"word": "rows"}, "version": 1, "due": 15 * SECOND, "state": {"n": 2, "seen": ""}},
        {"key": {"word": "idle"}, "version": 1, "due": 20 * SECOND, "state": {"n": 60, "seen": ""}},
        {"key": {"word": "busy"}, "version": 1, "due": 5 * SECOND, "state": {"n": 8, "seen": ""}},
        {"key": {"word": "busy"}, "version": 2, "due": 21 * SECOND, "state": {"n": 9, "seen": ""}},
        {"key": {"word": "gone"}, "version": 2, "due": None, "state": None},
    ]
    rows = [{"id": 1, "word": "rows", "at": at(22)}]
    kept, output, report = run(Timed(), schema, rows, held, now=20 * SECOND, timeout=10 * SECOND)
    moment = "timer 1970-01-01T00:00:20+00:00"
    assert output == [
        {"word": moment, "n": 2},
        {"word": "rows [1]", "n": 1},
        {"word": moment, "n": 60},
    ]
    by_key = {row["key"]["word"]: row for row in kept}
    assert set(by_key) == {"rows", "idle", "busy"}
    assert by_key["busy"]["state"]["n"] == 9
    assert by_key["rows"]["due"] == 32 * SECOND
    assert by_key["idle"]["state"]["n"] == 1
    assert by_key["idle"]["due"] == 30 * SECOND
    assert report.totals.timers == 2
    assert progress_of(7, [report], "rows", RoutingTable(1), 0.0, 0.0).timers == 2


def test_time_outs_in_the_time_of_batches():
    schema = schema_of()
    held = [{"key": {"word": "a"}, "version": 1, "due": 9, "state": {"n": 2, "seen": ""}}]
    [kept], output, _ = run(Timed(), schema, [{"word": "b", "id": 1}], held, now=10, timeout=5)
    assert (kept["key"], kept["due"]) == ({"word": "b"}, 15)
    assert [row["n"] for row in output] == [1, 2]


def report_of(numbers, seconds, keys) -> WorkerReport:
    lists = [each.tolist() for each in (numbers, numbers, seconds)]
    return WorkerReport.of(3, Touched(keys, *lists), numbers)


def test_a_query_without_a_time_out_forgets_those_of_the_one_before():
    schema = schema_of(event_time="at")
    held = [{"key": {"word": "a"}, "version": 1, "due": 9, "state": {"n": 2, "seen": ""}}]
    rows = [{"word": "a", "id": 1, "at": at(30)}]
    [kept], output, report = run(Timed(), schema, rows, held, now=20 * SECOND)
    assert (kept["due"], output, report.totals.timers) == (None, [{"word": "rows [1]", "n": 3}], 0)


def test_reports_list_the_costliest_keys_and_sum_up_the_rest():
    count = MOST_KEYS + 10
    numbers = np.arange(count, dtype=np.int64)
    report = report_of(numbers, numbers.astype(np.float64), numbers.tolist())
    again = WorkerReport.from_bytes(report.to_bytes())
    assert again.totals == report.totals
    assert again.hashes.tolist() == list(range(10, count))
    assert again.totals.unlisted_rows == 45
    assert again.totals.unlisted_seconds == pytest.approx(45)
    assert again.totals.rows == numbers.sum()


def test_reports_name_the_hot_keys():
    numbers = np.arange(30, dtype=np.int64)
    keys = [("\x1b[2J", None), *((str(number), None) for number in range(1, 30))]
    report = report_of(numbers, numbers[::-1].astype(np.float64), keys)
    named = WorkerReport.from_bytes(report.to_bytes()).totals.hot_keys
    assert named == report.totals.hot_keys
    assert {rows for _, rows, _ in named} == {*range(10), *range(20, 30)}
    assert named[0] == ("\\x1b[2J, NULL", 0, 29.0)


def test_bytes_of_nested_values():
    rows = pa.array(
        [
            {"words": ["ab", None], "pairs": [("k", 1)], "flag": True},
            None,
            {"words": None, "pairs": [], "flag": None},
        ],
        pa.struct(
            [
                ("words", pa.list_(pa.string())),
                ("pairs", pa.map_(pa.string(), pa.int64())),
                ("flag", pa.bool_()),
            ]
        ),
    )
    assert row_bytes(rows).tolist() == [2 + 9 + 1, 0, 0]
    assert row_bytes(rows.slice(2)).tolist() == [0]
