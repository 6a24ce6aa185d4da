"""What a task measures of a group function and writes, and when it writes nothing."""

from __future__ import annotations

import sys
import types

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from unskew._spark.engine.bulk import GroupTask, OneSide
from unskew._spark.engine.calls import ArrowCall
from unskew._spark.engine.cutting import Limits
from unskew._spark.engine.spark_rules import CallForm, WorkerSettings
from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.planning import recording
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.recording import Recorder, Recording
from unskew._spark.planning.run_records import RecordPlace, read_run
from unskew._spark.planning.work_record import WorkRecord

SETTINGS = WorkerSettings(True, "UTC", False, False, False, False, Limits(100))
SCHEMA = StructType([StructField("k", LongType())])
LAYOUT = OneSide(("k",), (0,), (0,))


def head_of(table):
    return table.slice(0, 1)


def first_batch_of(batches):
    yield next(batches).slice(0, 1)


def task(place, function=head_of, iterator=False):
    call = ArrowCall(function, CallForm(False, iterator), SCHEMA, SETTINGS)
    return GroupTask(LAYOUT, call, Recording(place, 1))


def batches(groups, size):
    """Keys with so many rows each, in batches of `size`; the hash is a thousand times the key."""
    keys = np.repeat(list(groups), list(groups.values()))
    for start in range(0, keys.size, size):
        part = keys[start : start + size]
        yield pa.record_batch({"0": part, "1": part * -1000})


def written(place):
    folder, _, run = place.folder.rpartition("/")
    return read_run(ArrowFolder(folder), run)


@pytest.fixture
def place(tmp_path):
    return RecordPlace(f"{tmp_path}/job/run", "print")


GROUPS = {key: 1 + key * 7 % 40 for key in range(50)}


@pytest.mark.parametrize("iterator", [False, True])
@pytest.mark.parametrize("size", [1, 13, 10_000])
def test_a_task_writes_rows_and_calls_of_each_key(place, iterator, size):
    function = first_batch_of if iterator else head_of
    results = list(task(place, function, iterator)(batches(GROUPS, size)))
    assert sum(batch.num_rows for batch in results) == len(GROUPS)
    record = written(place).record
    hashes = [key * -1000 % 2**64 for key in GROUPS]
    assert dict(zip(record.keys.tolist(), record.key_rows.tolist(), strict=True)) == dict(
        zip(hashes, GROUPS.values(), strict=True)
    )
    assert record.key_calls.tolist() == [1] * len(GROUPS)
    assert record.fingerprint == "print"


@pytest.mark.parametrize("iterator", [False, True])
def test_results_with_their_groups_are_recorded_too(place, iterator):
    function = first_batch_of if iterator else head_of
    assert len(list(task(place, function, iterator).results(batches(GROUPS, 13)))) > 0
    assert written(place).record.rows == sum(GROUPS.values())


def test_seconds_are_those_of_the_function_and_not_of_its_surroundings(place, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(recording, "perf_counter", lambda: clock[0])

    def slow(batches):
        for batch in batches:
            clock[0] += 2.0
            yield batch.slice(0, 1)
            clock[0] += 0.5

    def waiting():
        for batch in batches({1: 2, 2: 1}, 1):
            clock[0] += 100.0
            yield batch

    limited = WorkerSettings(True, "UTC", False, False, False, False, Limits(1))
    call = ArrowCall(slow, CallForm(False, True), SCHEMA, limited)
    for _, tables in GroupTask(LAYOUT, call, Recording(place, 1))._streamed(waiting()):
        for _ in tables:
            clock[0] += 1000.0
    record = written(place).record
    found = dict(zip(record.keys.tolist(), record.key_seconds.tolist(), strict=True))
    assert found == {2**64 - 1000: 5.0, 2**64 - 2000: 2.5}


def test_seconds_of_bundles_go_to_their_groups(place, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(recording, "perf_counter", lambda: clock[0])

    def slow(table):
        clock[0] += table.num_rows**2
        return table

    for _ in task(place, slow)(batches({1: 1, 2: 5, 3: 2}, 100)):
        clock[0] += 1000.0
    record = written(place).record
    assert record.key_rows.tolist() == [5, 2, 1]
    assert record.key_seconds.tolist() == [25.0, 4.0, 1.0]


@pytest.mark.parametrize("iterator", [False, True])
def test_a_task_that_is_stopped_early_writes_nothing(place, tmp_path, monkeypatch, iterator):
    monkeypatch.setattr("unskew._spark.engine.bulk.MOST_ROWS", 1)
    results = task(place, first_batch_of if iterator else head_of, iterator)(batches(GROUPS, 13))
    next(results)
    results.close()
    assert list(tmp_path.rglob("*")) == []


def test_a_task_whose_function_fails_writes_nothing(place, tmp_path):
    def fails(table):
        if table.column(0)[0].as_py() == 20:
            raise KeyError("no such thing")
        return table

    with pytest.raises(KeyError):
        list(task(place, fails)(batches(GROUPS, 13)))
    assert list(tmp_path.rglob("*")) == []


def test_a_task_without_rows_tells_that_it_has_finished(place):
    assert list(task(place)(iter([]))) == []
    assert written(place).record == WorkRecord.none("print")


@pytest.mark.parametrize("folder", ["/proc/none/run", "nonsense://where/run", "file:/dev/null/run"])
def test_a_folder_that_cannot_be_written_fails_no_task(folder, caplog):
    caplog.set_level("DEBUG", "unskew")
    results = list(task(RecordPlace(folder, ""))(batches(GROUPS, 13)))
    assert sum(batch.num_rows for batch in results) == len(GROUPS)
    assert [each.levelname for each in caplog.records] == ["DEBUG"]


def test_many_calls_are_compressed_and_their_heaviest_keys_kept(place, monkeypatch):
    monkeypatch.setattr(recording, "_HELD", 1000)
    few = RecordPlace(place.folder, "", tasks=100)
    recorder = Recorder(few, 0)
    random = np.random.default_rng(3)
    keys = random.permutation(np.arange(20_000, dtype=np.uint64) << np.uint64(40))
    seconds = np.full(keys.size, 0.125)
    seconds[[5, 19_999]] = 64.0
    for start in range(0, keys.size, 300):
        part = slice(start, start + 300)
        recorder.add(keys[part], np.full(keys[part].size, 3), seconds[part])
        assert sum(each[0].size for each in recorder._held) < 1300
    record = recorder.record()
    assert record.keys.size == few.most_keys < 200
    assert set(record.keys[:2].tolist()) == {int(keys[5]), int(keys[19_999])}
    assert (record.rows, record.calls) == (60_000, 20_000)
    assert record.seconds == pytest.approx(seconds.sum())


def test_a_first_call_that_loads_modules_counts_as_others_of_its_size(place, monkeypatch):
    keys, rows = np.arange(11, dtype=np.uint64), np.full(11, 10)
    seconds = np.array([5.0, *[0.25] * 10])
    warm = Recorder(place, 0)
    warm.add(keys, rows, seconds)
    assert warm.record().key_seconds.max() == 5.0
    cold = Recorder(place, 0)
    monkeypatch.setitem(sys.modules, "loaded_by_the_first_call", types.ModuleType("m"))
    cold.add(keys, rows, seconds)
    assert cold.record().key_seconds.max() == 0.5
    alone = Recorder(place, 0)
    monkeypatch.setitem(sys.modules, "loaded_by_another_call", types.ModuleType("m"))
    alone.add(keys[:1], rows[:1], seconds[:1])
    assert alone.record().key_seconds.tolist() == [5.0]


@pytest.mark.spark
def test_a_job_is_recalled_by_its_next_run(spark, tmp_path):
    memory = Memory(str(tmp_path / "memory"))
    place = memory.start_run("job", "print", tasks=2)
    rows = (
        spark.range(1000)
        .select((F.col("id") % 7).alias("k"))
        .select("k", F.xxhash64("k").alias("hash"))
        .repartition(2, "k")
        .sortWithinPartitions("k")
    )
    result = rows.mapInArrow(task(place), SCHEMA)
    assert memory.recall("job", "print") is None  # A job that has not run.
    assert sorted(row.k for row in result.collect()) == list(range(7))
    record = memory.recall("job", "print")
    wanted = {row["hash"] % 2**64: row["count"] for row in rows.groupBy("hash").count().collect()}
    assert dict(zip(record.keys.tolist(), record.key_rows.tolist(), strict=True)) == wanted
    assert record.calls == 7
    assert record.seconds > 0
