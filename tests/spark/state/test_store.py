"""A worker's files and its store, without Spark: whatever a store has seen, it ends up right."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType, StructField, StructType

from unskew._spark.frames.files import DamagedFileError
from unskew._spark.frames.schemas import arrow_type
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.processor import FunctionProcessor
from unskew._spark.stateful.state_files import LEAST, MOST, StateFile, Storage, needed
from unskew._spark.stateful.state_tables import table_of
from unskew._spark.stateful.store import Store, opened
from unskew._spark.stateful.worker_step import WorkerStep
from unskew._spark.stateful.worker_task import WorkerTask
from unskew.errors import StateError

KEY = StructType([StructField("k", StringType())])
STATE = StructType([StructField("n", LongType())])
SCHEMA = StateSchema(("k",), KEY, STATE, STATE)


def keys(value):
    return {} if value is None else {b"k": ("k", None, {"n": value})}


def content(store: Store) -> dict[int, int]:
    found = store.range(LEAST, 10_000).items()
    return {number: state["n"] for number, held in found for _, _, state in held.values()}


def as_told(held: dict) -> dict[int, int]:
    return {number: value for number, value in held.items() if value is not None}


changes = st.dictionaries(
    st.sampled_from([LEAST, -9, -1, 0, 4, 5, 6, MOST]), st.none() | st.integers(0, 99), max_size=4
)


@settings(max_examples=60)
@given(batches=st.lists(changes, min_size=1, max_size=12), merge_after=st.integers(1, 3),
       stale=st.integers(-1, 11))  # fmt: skip
def test_compacted_files_give_the_same_state_to_any_store(batches, merge_after, stale):
    with TemporaryDirectory() as name:
        storage = Storage(f"{name}/state")
        step = WorkerStep(
            FunctionProcessor(lambda *_: (None, None)), SCHEMA, "arrow", 0, None, None
        )
        files: tuple[StateFile, ...] = ()
        expected: dict = {}
        with Store(Path(name, "steady")) as steady, Store(Path(name, "stale")) as other:
            for batch, changed in enumerate(batches):
                steady.advance(files, batch - 1, storage, SCHEMA)
                assert content(steady) == as_told(expected)
                if batch - 1 <= stale:
                    other.advance(files, batch - 1, storage, SCHEMA)
                step = WorkerStep(step.processor, SCHEMA, "arrow", batch, None, None)
                task = WorkerTask(step, "", storage, (files,), None, merge_after, "", None)
                new = []
                if batch % merge_after == 0:
                    new += [each.file for each in task._compacted(steady, 0, list(files))]
                if changed:
                    table = table_of(((h, keys(n)) for h, n in sorted(changed.items())), SCHEMA)
                    new.append(storage.write(table, "log", batch))
                files = needed([*files, *new])
                expected |= changed
            for store in (steady, other, Store(Path(name, "new"))):
                store.advance(files, len(batches) - 1, storage, SCHEMA)
                assert content(store) == as_told(expected)


@pytest.mark.parametrize(
    ("throughs", "longest"),
    [
        ([4] * 8 + [5], 8 * 900 // 64 + 1),  # from eight other workers: the last log counts
        ([4, 5], 901 // 64 + 1),
        ([1, 2, 3, 4, 5], 5 * 900 // 4),
    ],
)
def test_state_is_not_written_anew_at_once_whatever_it_came_in(tmp_path, throughs, longest):
    storage = Storage(f"{tmp_path}/state")
    step = WorkerStep(FunctionProcessor(lambda *_: (None, None)), SCHEMA, "arrow", 8, None, None)
    files, rows = [StateFile.nothing(0)], 0
    for place, through in enumerate(throughs):
        count = 900 if through < 5 or 1 in throughs else 1
        content = ((number, keys(1)) for number in range(rows, rows + count))
        files.append(storage.write(table_of(content, SCHEMA), f"{place}", through))
        rows += count
    with Store(tmp_path / "store") as store:
        store.advance(files, 7, storage, SCHEMA)
        task = WorkerTask(step, "", storage, (tuple(files),), None, 1, "", None)
        [written] = task._compacted(store, 0, files)
    assert 0 < written.file.rows <= longest


def file_of(through, first=None, last=None):
    return StateFile(f"{through}-{first}", 1, "", 1, through, first, last)


def test_what_newer_slices_cover_is_let_go():
    low, high, new = file_of(3, LEAST, 4), file_of(5, 5, MOST), file_of(7, LEAST, 6)
    logs = [file_of(number) for number in range(9)]
    assert needed([*logs, low]) == (*logs[:4], low, *logs[4:])
    assert needed([*logs, low, high]) == (low, *logs[4:6], high, *logs[6:])
    assert needed([*logs, low, high, new]) == (high, *logs[6:8], new, logs[8])


def test_changed_files_are_noticed(tmp_path):
    storage = Storage(str(tmp_path))
    file = storage.write(table_of([(1, keys(7))], SCHEMA), "log", 0)
    path = tmp_path / file.name
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole + b"x", bytes([whole[0] ^ 1]) + whole[1:]):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="checksum differs"):
            storage.read(file)
    path.unlink()
    with pytest.raises(DamagedFileError, match="is missing"):
        storage.read(file)


def test_folders_without_room_or_rights(tmp_path, monkeypatch):
    (tmp_path / "files").write_text("where a folder should be")
    with pytest.raises(StateError, match=r"cannot be written.*nothing is lost"):
        Storage(str(tmp_path)).write(table_of([(1, keys(7))], SCHEMA), "log", 0)
    with pytest.raises(StateError, match="tasks cannot reach ftp://host/state"):
        Storage("ftp://host/state").check()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "files"))
    with pytest.raises(StateError, match=r"make room in spark\.local\.dir"):
        opened("query/run", 0, (), -1, Storage(str(tmp_path)), SCHEMA)


def test_a_full_disk_is_told_and_loses_nothing(tmp_path):
    full = Storage("/dev/full/state")
    with pytest.raises(StateError, match="nothing is lost"):
        full.write(table_of([(1, keys(7))], SCHEMA), "log", 0)


def test_a_broken_copy_is_made_anew_and_other_lineages_go(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    storage = Storage(str(tmp_path / "state"))
    logs = [table_of([(1, keys(number))], SCHEMA) for number in (6, 7)]
    files = tuple(storage.write(log, "log", number) for number, log in enumerate(logs))
    store, fetched = opened("query/first", 3, files, 1, storage, SCHEMA)
    with store:
        assert fetched == (1, files[0].length)
    copy = tmp_path / "local" / "unskew-state-query" / "first" / "3.sqlite"
    copy.write_bytes(b"not a database" * 100)
    store, fetched = opened("query/first", 3, files, 1, storage, SCHEMA)
    with store:
        assert (content(store), fetched.rows) == ({1: 7}, 1)
    store, fetched = opened("query/first", 3, files, 1, storage, SCHEMA)
    with store:
        assert fetched.rows == 0
    opened("query/second", 3, files, 1, storage, SCHEMA)[0].db.close()
    assert [each.name for each in copy.parent.parent.iterdir()] == ["second"]


def a_bit_flipped(content: bytearray) -> None:
    content[content.index((123_456_789).to_bytes(4, "little"))] ^= 4


def a_page_overwritten(content: bytearray) -> None:
    content[5 * 4096 : 6 * 4096] = b"\xff" * 4096


@pytest.mark.parametrize("damage", [a_bit_flipped, a_page_overwritten])
def test_a_copy_that_breaks_in_a_task_is_made_anew(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    storage = Storage(str(tmp_path / "state"))
    held = {number: number for number in range(2000)} | {700: 123_456_789}
    table = table_of(
        ((number, {b"": (f"k{number}", None, {"n": n})}) for number, n in held.items()), SCHEMA
    )
    file = storage.write(table, "log", 0)
    opened("query/run", 0, (file,), 0, storage, SCHEMA)[0].db.close()
    copy = tmp_path / "local" / "unskew-state-query" / "run" / "0.sqlite"
    content = bytearray(copy.read_bytes())
    damage(content)
    copy.write_bytes(content)

    processor = FunctionProcessor(lambda key, rows, state: ([state], state))
    step = WorkerStep(processor, SCHEMA, "arrow", 1, None, None)
    task = WorkerTask(step, "query/run", storage, ((file,),), None, 1000, "", None)
    rows = pa.array([{"k": f"k{number}"} for number in held], arrow_type(KEY))
    output, _ = task.run(0, [pa.record_batch({"hash": pa.array([*held]), "row": rows})])
    assert [row["n"] for each in output for row in each.to_pylist()] == [*held.values()]


def test_a_copy_of_a_batch_that_never_was_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "local"))
    storage = Storage(str(tmp_path / "state"))
    logs = [table_of([(1, keys(number))], SCHEMA) for number in (6, 7)]
    files = tuple(storage.write(log, "log", number) for number, log in enumerate(logs))
    opened("query/run", 0, files[:1], 0, storage, SCHEMA)[0].db.close()
    copy = tmp_path / "local" / "unskew-state-query" / "run" / "0.sqlite"
    content = bytearray(copy.read_bytes())
    content[63] ^= 4  # the user version, in the header
    copy.write_bytes(content)
    with opened("query/run", 0, files, 1, storage, SCHEMA)[0] as store:
        found = store.get([1])
    assert [state for _, _, state in found[1].values()] == [{"n": 7}]


def test_a_failed_replay_leaves_the_store_as_it_was(tmp_path):
    storage = Storage(str(tmp_path))
    first, second = (
        storage.write(table_of([(1, keys(number))], SCHEMA), "log", number) for number in (0, 1)
    )
    with Store(tmp_path / "store") as store:
        store.advance([first], 0, storage, SCHEMA)
        (tmp_path / second.name).unlink()
        with pytest.raises(DamagedFileError):
            store.advance([first, second], 1, storage, SCHEMA)
        assert (store.through, content(store)) == (0, {1: 0})
        with pytest.raises(sqlite3.OperationalError):
            store.db.execute("ROLLBACK")  # nothing is left open
