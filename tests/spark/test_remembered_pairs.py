"""Cogroups that remember what their function took, from run to run."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

import unskew
from unskew._spark.engine.buckets import BucketSide, BucketTask, RecordedBuckets
from unskew._spark.engine.calls import ArrowCall
from unskew._spark.engine.cutting import Limits
from unskew._spark.engine.deciding import _Remembered
from unskew._spark.engine.spark_rules import CallForm, WorkerSettings
from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.planning import decision, side_jobs
from unskew._spark.planning import memory as memory_module
from unskew._spark.planning.recording import Recording
from unskew._spark.planning.run_records import RecordPlace, read_run
from unskew._spark.planning.work_record import WorkRecord
from unskew.errors import ParameterError
from unskew.hashing import hash_keys
from unskew.partitioners import KeyGrouping
from unskew.testing import assert_same_result

SCHEMA = "key double, n bigint, others bigint"


def counted(left, right):
    key = (left if left.num_rows else right).column("key").slice(0, 1)
    return pa.table({"key": key, "n": [left.num_rows], "others": [right.num_rows]})


def counted_in_pandas(left, right):
    both = (left if len(left) else right)[["key"]].iloc[:1]
    return both.assign(n=len(left), others=len(right))


def counted_otherwise(left, right):
    return counted(left, right).slice(0)


@pytest.fixture
def folder(tmp_path):
    memory_module.warn_once.cache_clear()
    memory_module._note_once.cache_clear()
    unskew.remember(tmp_path / "memory")
    yield tmp_path / "memory"
    unskew.remember(None)


def keyed(spark, rows, keys):
    """A hot key, null, NaN, both zeros, and others."""
    key = (
        F.when(F.col("id") % 3 == 0, 77.0)
        .when(F.col("id") % 5 == 0, None)
        .when(F.col("id") % 7 == 0, float("nan"))
        .when(F.col("id") % 11 == 0, -0.0)
        .otherwise((F.col("id") % keys).cast("double"))
    )
    return spark.range(0, rows, 1, 3).select(key.alias("key"), "id")


def cogrouped(left, right, function=counted, key="key", **given):
    both = unskew.groupBy(left, key, **given).cogroup(unskew.groupBy(right, key))
    verb = both.applyInPandas if function is counted_in_pandas else both.applyInArrow
    return verb(function, SCHEMA)


def plain(left, right, function=counted):
    both = left.groupBy("key").cogroup(right.groupBy("key"))
    verb = both.applyInPandas if function is counted_in_pandas else both.applyInArrow
    return verb(function, SCHEMA)


def recalled(folder):
    """What the only job of a memory took."""
    (job,) = ArrowFolder(str(folder)).names()
    return memory_module._recalled(False, ArrowFolder(f"{folder}/{job}"))


@pytest.mark.spark
@pytest.mark.parametrize(("workers", "function"), [(None, counted), (3, counted_in_pandas)])
def test_the_next_run_needs_no_pass_and_gives_sparks_rows(
    spark, folder, function, workers, monkeypatch
):
    left, right = keyed(spark, 1200, 40), keyed(spark, 300, 50)
    given = {"workers": workers, "name": "nightly"}
    expected = plain(left, right, function)
    assert_same_result(cogrouped(left, right, function, **given), expected)
    monkeypatch.setattr(side_jobs, "_named", None)  # Whatever runs beside a job would fail now.
    monkeypatch.setattr(decision, "DRIFTED", 2.0)  # Calls this short differ from run to run.
    for _ in range(2):
        made = cogrouped(left, right, function, **given)
        assert unskew.plan_of(made).statistics == "an earlier run"
        assert "(an earlier run)" in unskew.plan_of(made).why
        assert_same_result(made, expected)
    changed = keyed(spark, 900, 7).where("key is null or key <> 77"), keyed(spark, 500, 60)
    made = cogrouped(*changed, function, **given)
    assert unskew.plan_of(made).statistics == "an earlier run"
    assert_same_result(made, plain(*changed, function))
    # In place of Spark's equality: NaN is NaN, and both zeros are one key.
    rows = Counter(
        "nan" if key is not None and math.isnan(key) else key
        for side in changed
        for (key,) in side.select("key").collect()
    )
    keys = [None if key is None else float(key) for key in rows]
    record = recalled(folder)
    found = dict(zip(record.keys.tolist(), record.key_rows.tolist(), strict=True))
    hashes = hash_keys(pa.array(keys, pa.float64())).tolist()
    assert found == dict(zip(hashes, rows.values(), strict=True))
    assert record.key_calls.tolist() == [1] * len(rows)
    assert record.seconds > 0


@pytest.mark.spark
@pytest.mark.classic("Spark Connect counts no jobs")
def test_the_next_run_starts_no_job_before_the_action(spark, folder):
    left, right = keyed(spark, 1200, 40), keyed(spark, 300, 50)
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    started = []
    for _ in range(2):
        before = scheduler.numTotalJobs()
        made = cogrouped(left, right)
        started.append(scheduler.numTotalJobs() - before)
        made.collect()
    assert started[0] > 0
    assert started[1] == 0


@pytest.mark.spark
def test_a_costly_input_is_levelled_by_what_an_earlier_run_took(spark, folder):
    left = keyed(spark, 1200, 40).mapInArrow(lambda batches: batches, "key double, id bigint")
    right = keyed(spark, 300, 50)
    first = cogrouped(left, right)
    assert "read once" in unskew.plan_of(first).why
    assert_same_result(first, plain(left, right))
    second = cogrouped(left, right)
    assert unskew.plan_of(second).statistics == "an earlier run"
    assert_same_result(second, plain(left, right))


@pytest.mark.spark
def test_columns_of_any_type_go_with_what_is_recorded(spark, folder):
    # The row at the end of a task has none of these values.
    values = [
        "map('a', id) AS m",
        "interval '1' day AS d",
        "make_interval(1, 2, 3) AS i",
        "null AS v",
        "cast('x' AS char(3)) AS c",
        "'x' COLLATE utf8_lcase AS l",
        "array(named_struct('a', id)) AS s",
        "current_date() AS n",
        "X'01' AS b",
    ]
    rows = spark.range(30).selectExpr("double(id % 4) AS key", "id")
    left = rows.selectExpr("key", *values)
    for here, there in ((left, rows), (rows, left), (left.where("false"), rows)):
        assert_same_result(cogrouped(here, there, name="types"), plain(here, there))
    assert recalled(folder).rows == 30


@pytest.mark.spark
def test_seconds_of_keys_are_levelled(spark, monkeypatch):
    left, right = keyed(spark, 1200, 40), keyed(spark, 300, 50)
    keys = np.array([1.0, 2.0, 4.0, 8.0, 13.0, 16.0, 17.0, 19.0, 23.0])
    hashes = hash_keys(pa.array(keys))
    # Hashing would send the two heavy keys to one worker.
    heavy = np.flatnonzero(KeyGrouping(2).router().route(hashes) == 0)[:2]
    seconds = np.where(np.isin(np.arange(keys.size), heavy), 30.0, 0.1)
    record = WorkRecord.of(hashes, np.full(keys.size, 10), seconds)
    monkeypatch.setattr(_Remembered, "of", lambda *_: Kept(record))
    made = cogrouped(left, right, workers=2)
    assert unskew.plan_of(made).route.name == "routing-table"
    worker = made.select("key", F.spark_partition_id()).where(
        F.col("key").isin(keys[heavy].tolist())
    )
    assert {row[1] for row in worker.collect()} == {0, 1}
    monkeypatch.setattr(_Remembered, "of", lambda *_: Kept(replace(record, drift=0.4)))
    made = cogrouped(left, right, workers=2)
    assert "earlier run" not in unskew.plan_of(made).statistics
    assert_same_result(made, plain(left, right))


class Kept:
    """A job that is remembered, and not recorded."""

    def __init__(self, record):
        self.record = record

    def recall(self):
        return self.record

    def start(self, tasks):
        return None


@pytest.mark.spark
def test_other_jobs_are_not_taken_for_this_one(spark, folder, caplog):
    caplog.set_level("INFO", "unskew")
    left, right = keyed(spark, 600, 40), keyed(spark, 300, 50)
    cogrouped(left, right, name="nightly").collect()
    changed = "has changed since its recorded run"
    for told, run in (
        (True, lambda: cogrouped(left, right, counted_otherwise, name="nightly")),
        (True, lambda: cogrouped(left, right, key=["key", "id"], name="nightly")),
        (False, lambda: cogrouped(left, right, name="hourly")),
        (False, lambda: cogrouped(left, right)),
    ):
        made = run()
        assert unskew.plan_of(made).statistics != "an earlier run"
        assert any(changed in line for line in caplog.messages) == told
        caplog.clear()
        memory_module._note_once.cache_clear()
    made = cogrouped(left, right, name="nightly")
    assert unskew.plan_of(made).statistics == "an earlier run"
    assert_same_result(made, plain(left, right))


@pytest.mark.spark
@pytest.mark.parametrize("harm", [b"", b"PAR1 something else", b"\0" * (1 << 21)])
def test_a_damaged_file_is_ignored_with_a_warning(spark, folder, caplog, harm):
    left, right = keyed(spark, 600, 40), keyed(spark, 300, 50)
    cogrouped(left, right, name="nightly").collect()
    recalled(folder)
    (summary,) = folder.glob("*/summary")
    summary.write_bytes(harm)
    made = cogrouped(left, right, name="nightly")
    assert unskew.plan_of(made).statistics != "an earlier run"
    assert f"ignored a damaged file: {summary}" in caplog.text
    assert_same_result(made, plain(left, right))
    assert unskew.plan_of(cogrouped(left, right, name="nightly")).statistics == "an earlier run"


@pytest.mark.spark
@pytest.mark.parametrize("asked", [{"scheme": "kg"}, {"capacities": [1.0, 2.0]}])
def test_what_nobody_recalls_is_not_recorded(spark, folder, asked):
    left, right = keyed(spark, 600, 40), keyed(spark, 300, 50)
    cogrouped(left, right, workers=2, **asked).collect()
    assert not list(folder.parent.rglob("*"))


@pytest.mark.spark
def test_the_left_side_tells_what_a_row_takes(spark):
    left, right = keyed(spark, 600, 40), keyed(spark, 300, 50)
    plans = [unskew.plan_of(cogrouped(left, right, seconds_per_row=each)) for each in (0.0, 0.1)]
    assert all("a row (given)" in plan.why for plan in plans)
    # At no cost nothing is gained by balance; 90 s of work on two slots take 45 s at least.
    assert plans[0].plain
    assert plans[1].forecast_seconds > 9
    both = unskew.groupBy(left, "key", name="nightly")
    assert both.cogroup(both).applyInArrow(counted, SCHEMA).count() > 0
    for wrong in ({"seconds_per_row": 0.1}, {"pilot": False}, {"name": "other"}):
        with pytest.raises(ParameterError, match="to the left groupBy only"):
            both.cogroup(unskew.groupBy(right, "key", **wrong))


ROWS = pa.schema([("key", pa.int64()), ("hash", pa.int64()), ("bucket", pa.int32())])


def bucket(number, *keys):
    hashes = [key * 100 for key in keys]
    return pa.table([keys, hashes, [number] * len(keys)], schema=ROWS)


def task(place):
    settings = WorkerSettings(True, "UTC", False, False, False, False, Limits(2))
    schema = StructType([StructField("n", LongType())])

    def sizes(left, right):
        return pa.table({"n": [left.num_rows + right.num_rows]})

    side = BucketSide(("key",), (0,), (0,))
    call = ArrowCall(sizes, CallForm(False, False), schema, settings)
    return RecordedBuckets(BucketTask((side, side), call), Recording(place, 0), end=64)


def test_a_task_writes_its_record_behind_its_last_bucket(tmp_path):
    place = RecordPlace(f"{tmp_path}/job/run", "print", tasks=1)
    made = task(place)
    # Of key 2 only the right has rows; groups of three rows are called one by one.
    results = [made(bucket(3, 1, 1, 1, 5), bucket(3, 2, 1)), made(bucket(7), bucket(7, 8))]
    assert [sorted(each.column(0).to_pylist()) for each in results] == [[1, 1, 4], [1]]
    assert not Path(place.folder).exists()
    end = made(pa.table([[None], [None], [64]], schema=ROWS), bucket(64))
    assert end.num_rows == 0
    assert end.schema == results[0].schema
    record = read_run(ArrowFolder(f"{tmp_path}/job"), "run").record
    found = dict(zip(record.keys.tolist(), record.key_rows.tolist(), strict=True))
    assert found == {100: 4, 200: 1, 500: 1, 800: 1}
    assert record.key_calls.tolist() == [1] * 4
    assert record.fingerprint == "print"
