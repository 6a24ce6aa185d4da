"""Stateful streams as streaming queries: start, restart, fall back, refuse."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql
import pytest
from pyspark.sql.types import LongType, StructField, StructType
from tests.spark.state.batches import CLASSIC, shuffle_tables

import unskew
from unskew._spark.frames.files import Files
from unskew._spark.stateful.spark_checkpoint import check_in_step
from unskew._spark.stateful.stream import _kept_in, files_feed
from unskew.errors import (
    KeyTypeError,
    ParameterError,
    SchemaError,
    SessionError,
    StateError,
    UnknownNameError,
    UnskewError,
)
from unskew.rebalancing import Mixed
from unskew.streaming import BatchProgress, read_lines, read_state, stateful

pytestmark = [pytest.mark.spark, CLASSIC]


def counting():
    """Made here, so that it travels."""

    class Counting(unskew.streaming.Processor):
        def process(self, key, rows, state):
            n = len(rows) + (state["n"] if state else 0)
            return [{"key": key, "n": n, "what": "rows"}], {"n": n}

        def on_timer(self, key, state, now):
            return [{"key": key, "n": state["n"], "what": "timer"}], state

    return Counting()


class Stream:
    def __init__(self, spark, folder):
        self.spark, self.folder, self.keys, self.expected = spark, folder, [], []
        (folder / "rows").mkdir()

    def add(self, keys):
        """A file, which is a batch: timers of all older keys, then its rows."""
        known = Counter(self.keys)
        self.expected += [(key, n, "timer") for key, n in known.items()]
        self.keys += keys
        counts = Counter(self.keys)
        self.expected += [(key, counts[key], "rows") for key in set(keys)]
        number = len(list((self.folder / "rows").iterdir()))
        path = self.folder / "rows" / f"{number:04d}.parquet"
        pq.write_table(pa.table({"key": pa.array(keys, pa.string())}), path)
        # Spark takes files by their age, and two may be of the same millisecond.
        os.utime(path, (1_700_000_000 + number,) * 2)

    def run(self, files=1, **changes):
        rows = self.spark.readStream.schema("key string").option("maxFilesPerTrigger", files)
        settings = {
            "schema": "key string, n bigint, what string",
            "state_schema": "n bigint",
            "checkpoint": str(self.folder / "checkpoint"),
            "workers": 2,
            "rows": "pandas",
            "timeout": "0 seconds",
        }
        stream = stateful(
            rows.parquet(str(self.folder / "rows")), "key", counting(), **settings | changes
        )
        query = stream.start(str(self.folder / "output"), availableNow=True)
        query.awaitTermination()
        return stream

    def check(self):
        output = self.spark.read.parquet(str(self.folder / "output")).drop("batch")
        assert Counter(map(tuple, output.collect())) == Counter(self.expected)
        state = read_state(self.spark, str(self.folder / "checkpoint"))
        assert dict(map(tuple, state.collect())) == dict(Counter(self.keys))


@pytest.mark.smoke
def test_restart_fall_back_and_refusal(spark, tmp_path, caplog):
    stream = Stream(spark, tmp_path)
    stream.add(["a", "a", None, "b"])
    stream.add(["a", "c"])
    first = stream.run()
    stream.check()
    assert [record.batch for record in first.progress] == [0, 1]
    assert first.progress[0].rows == 4
    assert read_lines(tmp_path / "checkpoint") == first.progress

    # Spark has finished batch 1; the state that it left behind is lost.
    newest = tmp_path / "checkpoint" / "state" / "commits" / f"{1:012d}.json"
    newest.write_text("{")
    stream.add(["b", None])
    with caplog.at_level(logging.WARNING, logger="unskew"):
        again = stream.run(workers=3)
    assert "falling back to batch 0" in caplog.text
    assert "batches 1 to 1 are run again" in caplog.text
    assert [record.batch for record in again.progress] == [1, 2]
    stream.check()

    shutil.copytree(tmp_path / "checkpoint" / "spark", tmp_path / "copy")
    shutil.rmtree(tmp_path / "checkpoint" / "spark")
    with pytest.raises(StateError, match=r"belongs to query .*, but this is a new one"):
        stream.run()

    shutil.rmtree(tmp_path / "checkpoint")
    shutil.copytree(tmp_path / "copy", tmp_path / "checkpoint" / "spark")
    with pytest.raises(StateError, match=r"has no state, but .* has finished batch 2"):
        stream.run()


def test_no_output_stays_of_batches_that_are_cut_differently_when_they_come_again(spark, tmp_path):
    stream, state = Stream(spark, tmp_path), tmp_path / "checkpoint" / "state"
    stream.add(["a"])
    stream.run(timeout=None)
    shutil.copytree(state, tmp_path / "backup")
    for _ in range(3):
        stream.add(["a"])
    stream.run(timeout=None)
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "backup", state)
    # Spark knows of batch 1 what was in it, and cuts anew what comes after.
    stream.run(timeout=None, files=2)
    output = spark.read.parquet(str(tmp_path / "output"))
    assert sorted(map(tuple, output.select("batch", "n").collect())) == [(0, 1), (1, 2), (2, 4)]


def test_state_of_another_query_is_refused_before_anything_is_removed(spark, tmp_path):
    stream = Stream(spark, tmp_path)
    for _ in range(2):
        stream.add(["a", "b"])
    stream.run()
    checkpoint = tmp_path / "checkpoint"
    # As if the other query's state ended with batch 0: Spark is a batch ahead of it.
    (checkpoint / "state" / "commits" / f"{1:012d}.json").unlink()
    (checkpoint / "spark" / ".metadata.crc").unlink()
    (checkpoint / "spark" / "metadata").write_text('{"id":"another"}')
    there = sorted(checkpoint.rglob("*"))
    with pytest.raises(StateError, match="but this is another"):
        stream.run()
    assert sorted(checkpoint.rglob("*")) == there
    (checkpoint / "spark" / "metadata").write_text("{")
    with pytest.raises(StateError, match="holds no id of a query"):
        stream.run()


@pytest.mark.parametrize(
    ("offsets", "commits", "why"),
    [
        ([4, 5], [4], None),  # a crash after the commit of batch 5
        ([4, 5, 6], [4, 5], None),
        ([4, 5, 6, 7], [5, 6, 7], None),  # the state fell back
        ([3, 4], [3, 4], "knows none after 4"),
        ([], [], "knows none after -1"),
        ([106, 107], [106, 107], "no longer has the offsets of batch 6"),
        ([6, 7], [6, 7], "no longer has the offsets of batch 6"),
    ],
)
def test_spark_must_be_able_to_go_on_from_the_state(spark, tmp_path, offsets, commits, why):
    for folder, batches in (("offsets", offsets), ("commits", commits)):
        (tmp_path / folder).mkdir()
        for batch in batches:
            (tmp_path / folder / str(batch)).touch()
    files = Files(spark, str(tmp_path))
    refused = contextlib.nullcontext() if why is None else pytest.raises(StateError, match=why)
    with refused:
        check_in_step(files, 5, "state")


def removed(path):
    path.unlink()


def emptied(path):
    path.write_bytes(b"")


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [removed, emptied, flipped])
def test_a_damaged_state_file_is_noticed(spark, tmp_path, caplog, damage):
    stream = Stream(spark, tmp_path)
    stream.add(["a", "a", None, "b", "c"])
    stream.add(["a", "c"])
    stream.run()
    files = tmp_path / "checkpoint" / "state" / "files"
    newest = sorted(each for each in files.iterdir() if each.name.startswith(f"{1:08d}"))
    damage(newest[0])
    with caplog.at_level(logging.WARNING, logger="unskew"):
        stream.run()
    assert "falling back to batch 0" in caplog.text
    stream.check()

    for each in files.iterdir():
        damage(each)
    with pytest.raises(StateError, match="every commit in"):
        stream.run()


def test_mistakes_are_found_before_the_start(spark, tmp_path):
    rows = spark.readStream.schema("key string, at string").parquet(str(tmp_path))
    good = {
        "schema": "n bigint",
        "state_schema": "n bigint",
        "checkpoint": str(tmp_path),
        "workers": 2,
    }

    def refused(error, message, stream=rows, key="key", **changes):
        with pytest.raises(error, match=message) as found:
            stateful(stream, key, counting(), **good | changes)
        assert isinstance(found.value, UnskewError)

    refused(ParameterError, "requires a streaming DataFrame", stream=spark.range(3), key="id")
    refused(UnknownNameError, "kye", key="kye")
    refused(UnknownNameError, "did you mean 'mixed'", rebalancer="mixt")
    refused(ParameterError, "table_size=99999", table_size=99999)
    refused(ParameterError, "theta", theta=-1)
    refused(ParameterError, "interval=0", interval=0)
    refused(ParameterError, "cost='euros'", cost="euros")
    refused(ParameterError, "rows='polars'", rows="polars")
    refused(ParameterError, "merge_after=0", merge_after=0)
    refused(ParameterError, "event_time='at' is string, not timestamp", event_time="at")
    refused(UnknownNameError, "when", event_time="when")
    refused(ParameterError, "timeout='soon' is not a duration", timeout="soon")
    refused(SchemaError, "state_schema=''", state_schema="")
    refused(ParameterError, "remove table_size=", rebalancer=Mixed(), table_size=10)
    refused(ParameterError, "remove theta=", rebalancer=Mixed(), theta=0.1)
    collated = rows.selectExpr("key collate UTF8_LCASE key")
    refused(KeyTypeError, "byte by byte", stream=collated)
    months = rows.selectExpr("make_ym_interval(1, length(key)) key")
    refused(KeyTypeError, "the months, as the key", stream=months)
    refused(ParameterError, "cannot hand to Python", state_schema="months interval year to month")

    stream = stateful(rows, "key", counting(), **good)
    with pytest.raises(ParameterError, match="not started"):
        stream.scale(3)


KINDS = {
    "boolean": ["true", "false"],
    "double": ["0.0D", "double('NaN')", "1.5D"],
    "decimal(38,2)": ["1.10", "-1.10"],
    "binary": ["x'00'", "x''"],
    "date": ["date'0001-01-01'", "date'2026-02-03'"],
    # Both passes through the hour in which clocks are set back in Berlin.
    "timestamp": ["timestamp_seconds(1761438600)", "timestamp_seconds(1761442200)"],
    "interval day to second": ["interval '1 02' day to hour", "interval '1' day"],
    "array<double>": ["array(1D, 0D)", "array(1D)"],
    "struct<a:string,b:date>": ["named_struct('a', 'x', 'b', date'2026-02-03')"],
}


def test_every_type_is_a_key(spark, tmp_path):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        _check_kinds(spark, tmp_path / "together", KINDS)
        _check_kinds(spark, tmp_path / "alone", {"timestamp": KINDS["timestamp"]})
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def _keys(spark, kinds):
    """A row for each value, null in the columns of other types, and one of nulls only."""
    one_of_each = [(kind, value) for kind in kinds for value in kinds[kind]] + [(None, None)]
    keys = (
        ", ".join(f"cast({value if kind == own else 'null'} as {kind})" for kind in kinds)
        for own, value in one_of_each
    )
    names = [f"k{place}" for place in range(len(kinds))]
    table = ", ".join(f"({key})" for key in keys)
    return names, spark.sql(f"select * from values {table} as t({', '.join(names)})")


def _check_kinds(spark, folder, kinds):
    names, keys = _keys(spark, kinds)
    rows = keys.crossJoin(spark.range(3)).coalesce(1)
    rows.write.parquet(str(folder / "rows" / "batch=0"))
    shutil.copytree(folder / "rows" / "batch=0", folder / "rows" / "batch=1")

    def count(key, given, state):
        n = given.num_rows + (state["n"] if state else 0)
        return [{"n": n}], {"n": n}

    reader = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
    stream = stateful(
        reader.parquet(str(folder / "rows" / "*")), names, count, schema="n bigint",
        state_schema="n bigint", checkpoint=str(folder / "checkpoint"), workers=2,
    )  # fmt: skip
    stream.start(str(folder / "output"), availableNow=True).awaitTermination()
    found = read_state(spark, str(folder / "checkpoint"))
    assert [found.schema[name].dataType for name in names] == [
        keys.schema[name].dataType for name in names
    ]
    same = [found[name].eqNullSafe(keys[name]) for name in names]
    counts = found.join(keys, same, "full").select("n").collect()
    assert [row["n"] for row in counts] == [6] * (sum(map(len, kinds.values())) + 1)


HELPERS = (
    "slot", "hash", "key", "row", "worker", "due", "bytes", "state", "id", "__unskew_slot",
    "__unskew_worker", "a.b", "SLOT_",
)  # fmt: skip


def test_columns_may_be_called_as_our_helpers_are(spark, tmp_path, monkeypatch):
    shuffle_tables(monkeypatch, 3)
    (tmp_path / "rows").mkdir()
    for number in range(4):
        table = pa.table({name: pa.array([0, 1, 1, number], pa.int64()) for name in HELPERS})
        path = tmp_path / "rows" / f"{number}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    schema = StructType([StructField(name, LongType()) for name in HELPERS])

    def process(key, rows, state):
        seen = rows.num_rows + (state["due"] if state else 0)
        row = {name: rows[name][0].as_py() for name in HELPERS}
        return [row], dict.fromkeys(HELPERS[2:], seen)

    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    stream = stateful(
        rows.parquet(str(tmp_path / "rows")), ["slot", "hash"], process, schema=schema,
        state_schema=StructType(schema.fields[2:]), checkpoint=str(tmp_path / "checkpoint"),
        workers=2, cost="rows", merge_after=1, event_time=None,
    )  # fmt: skip
    stream.start(str(tmp_path / "output"), availableNow=True).awaitTermination()
    assert sum(record.migrated_keys for record in stream.progress) > 0
    output = spark.read.parquet(str(tmp_path / "output")).drop("batch")
    assert output.columns == list(HELPERS)
    assert all(len(set(row)) == 1 for row in output.collect())
    state = read_state(spark, str(tmp_path / "checkpoint"))
    assert state.columns == list(HELPERS)
    counts = Counter([0, 1] * 4 + [1] * 4 + [0, 1, 2, 3])
    assert {row["slot"]: row["SLOT_"] for row in state.collect()} == counts


def test_records_are_files_where_nothing_can_be_appended(spark, tmp_path):
    write = files_feed(Files(spark, str(tmp_path)), kept=2)
    for batch in (0, 1, 1, 2):
        write(BatchProgress.of(batch, [3, 1], seconds=0.5))
    found = spark.read.json(f"{tmp_path}/batches").orderBy("batch").collect()
    assert [row["batch"] for row in found] == [1, 2]
    assert [row["max_over_mean"] for row in found] == [1.5, 1.5]


def test_records_are_in_the_checkpoint_whatever_it_is_called(spark, tmp_path):
    folder = tmp_path / "a b#c?d%20"
    record = BatchProgress.of(0, [3, 1], seconds=0.5)
    _kept_in(Files(spark, str(folder)))(record)
    assert read_lines(folder) == [record]


def test_spark_connect_is_told_what_it_lacks():
    class DataFrame(pyspark.sql.DataFrame):
        __module__ = "pyspark.sql.connect.dataframe"

        def __new__(cls):
            return object.__new__(cls)

    with pytest.raises(SessionError, match="classic session"):
        stateful(
            DataFrame(), "key", counting(), schema="n int", state_schema="n int", checkpoint="x"
        )
