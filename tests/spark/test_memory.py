"""The memory from run to run: what is recalled, and what nothing can break."""

from __future__ import annotations

import os
import random
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import unskew
from unskew._spark.planning import memory as module
from unskew._spark.planning import notices
from unskew._spark.planning.memory import SETTING, Memory, drift_between
from unskew._spark.planning.record_bytes import to_bytes
from unskew._spark.planning.run_records import MOST_TASKS, Part, new_run, part_bytes, part_of
from unskew._spark.planning.work_record import WorkRecord
from unskew.errors import InputError, ParameterError


@pytest.fixture(autouse=True)
def _told_anew():
    module.warn_once.cache_clear()
    module._note_once.cache_clear()


@pytest.fixture
def memory(tmp_path):
    return Memory(str(tmp_path / "memory"))


def record(seed=0, rows=100, keys=5, fingerprint="print"):
    hashes = np.random.default_rng(seed).integers(0, 2**64, keys, dtype=np.uint64)
    each = np.full(keys, rows // keys)
    return WorkRecord.of(hashes, each, each / 8, fingerprint=fingerprint)


def run(memory, records, tasks=None, job="job", stage=1):
    place = memory.start_run(job, "print", tasks)
    for partition, each in enumerate(records):
        place.write(each, partition, stage)
    return place


def recalled(memory, job="job"):
    return memory.recall(job, "print")


def files(memory):
    return sorted(
        str(each.relative_to(memory.folder)) for each in Path(memory.folder).rglob("*")
        if each.is_file()
    )  # fmt: skip


def warnings(caplog):
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def test_a_job_that_never_ran_is_not_known(memory, caplog):
    assert memory.recall("job", "print") is None
    assert warnings(caplog) == []
    assert not Path(memory.folder).exists()


@pytest.mark.parametrize("tasks", [None, 3])
def test_the_parts_of_a_run_become_one_summary(memory, tasks):
    parts = [record(seed) for seed in range(3)]
    run(memory, parts, tasks)
    for _ in range(2):
        assert recalled(memory) == WorkRecord.merged(parts)
        assert files(memory) == ["job/summary"]


def test_the_newest_run_counts_and_older_ones_go(memory):
    run(memory, [record(1)])
    run(memory, [record(2)])
    assert recalled(memory) == record(2)
    run(memory, [record(3)])
    assert recalled(memory) == record(3)
    assert files(memory) == ["job/summary"]


def test_jobs_are_apart(memory):
    run(memory, [record(1)], job="one")
    run(memory, [record(2)], job="two")
    assert recalled(memory, "one") == record(1)
    assert recalled(memory, "two") == record(2)


def test_an_attempt_takes_the_place_of_another(memory):
    place = run(memory, [record(1), record(2)], tasks=2)
    place.write(record(3), 1, 1)
    assert recalled(memory) == WorkRecord.merged([record(1), record(3)])


def test_a_run_of_which_tasks_are_missing_is_not_used(memory):
    run(memory, [record(1)], tasks=2)
    assert recalled(memory) is None
    run(memory, [record(2), record(3)], tasks=2)
    good = WorkRecord.merged([record(2), record(3)])
    assert recalled(memory) == good
    late = run(memory, [record(4)], tasks=2)
    assert recalled(memory) == good
    late.write(record(5), 1, 1)
    assert recalled(memory) == WorkRecord.merged([record(4), record(5)])


def test_a_known_number_of_tasks_may_have_few_rows(memory):
    run(memory, [record(1, rows=10_000)], tasks=1)
    assert recalled(memory).rows == 10_000
    run(memory, [record(1, rows=10)], tasks=1)
    assert recalled(memory).rows == 10


def test_a_drop_in_rows_counts_when_it_repeats(memory):
    run(memory, [record(1, rows=1000)])
    assert recalled(memory).rows == 1000
    run(memory, [record(1, rows=100)])
    assert recalled(memory).rows == 1000
    run(memory, [record(1, rows=90)])
    assert recalled(memory).rows == 90
    assert files(memory) == ["job/summary"]


def test_drift_of_the_keys_is_told(memory, caplog, monkeypatch, capsys):
    caplog.set_level("INFO", "unskew")
    monkeypatch.setattr(notices, "_is_interactive", lambda: True)
    for seed in (1, 1, 3):  # The keys of 3 are in other parts of the hashes.
        run(memory, [record(seed)])
        drift = recalled(memory).drift
    told = "100% of the work was with other keys than in the run before; the last counts"
    assert [each.getMessage().split(": ")[1] for each in caplog.records] == [told]
    assert capsys.readouterr().out.count(told) == 1
    assert drift == recalled(memory).drift == 1.0


def test_keys_that_only_one_run_names_have_not_moved():
    keys = np.arange(32, dtype=np.uint64) << np.uint64(59)
    rows, seconds = np.full(32, 8), np.linspace(1.0, 3.0, 32)
    some, more = (WorkRecord.of(keys, rows, seconds, most=most) for most in (4, 30))
    assert some.drift_from(more) > 1 / 3
    assert drift_between(some, more, by_range=False) == pytest.approx(0)
    others = WorkRecord.of(keys + (np.uint64(1) << np.uint64(58)), rows, seconds, most=30)
    assert drift_between(others, some, by_range=False) == pytest.approx(1)


def test_drift_is_the_share_of_work_that_moved():
    keys = np.array([1, 2, 3], dtype=np.uint64)
    rows, before = np.array([10, 10, 20]), np.array([0.5, 0.25, 0.25])
    first = WorkRecord.of(keys, rows, before)
    assert first.drift_from(first) == 0
    assert first.drift_from(WorkRecord.of(keys, rows, 3 * before)) == 0
    moved = WorkRecord.of(keys, rows, np.array([0.25, 0.5, 0.25]))
    assert moved.drift_from(first) == pytest.approx(0.25)
    rest = WorkRecord.of(keys, rows, before, most=0)
    assert rest.drift_from(WorkRecord.of(keys, rows, before, most=0)) == 0


def test_a_dataframe_that_is_run_again_counts_once(memory):
    place = run(memory, [record(seed) for seed in range(4)], stage=3)
    for partition in range(2):  # Spark has joined small partitions this time.
        place.write(record(10 + partition, rows=200), partition, 9)
    assert recalled(memory) == WorkRecord.merged([record(10, rows=200), record(11, rows=200)])


def test_runs_that_never_finish_do_not_add_up(memory):
    for seed in range(10):
        run(memory, [record(seed)], tasks=2)
        assert recalled(memory) is None
        assert len(files(memory)) <= 3


def test_a_job_takes_less_than_a_megabyte(memory):
    many = [record(seed, rows=400_000, keys=400_000 // 8) for seed in range(8)]
    for _ in range(3):
        place = memory.start_run("job", "print", tasks=8)
        for partition, each in enumerate(many):
            low, high = np.uint64(partition << 61), np.uint64(61)
            moved = (each.keys >> np.uint64(3)) | low
            assert (moved >> high == partition).all()
            rest = np.zeros(1024)
            rest[partition * 128 : (partition + 1) * 128] = 5
            part = WorkRecord(
                moved, each.key_rows, each.key_seconds, each.key_calls, rest, rest, rest
            )
            place.write(WorkRecord.merged([part], place.most_keys), partition, 1)
        assert sum((Path(memory.folder) / each).stat().st_size for each in files(memory)) < 1 << 20
        memory.recall("job", "print")
    assert files(memory) == ["job/summary"]


@pytest.mark.parametrize("parts", [1, 8, 32, 200, 2048])
def test_runs_in_place_take_less_than_a_megabyte(memory, parts):
    # Each of the parts has rows of many keys: all ranges are in use.
    many = record(1, rows=100_000, keys=20_000)
    run(memory, [many] * parts)
    assert sum((Path(memory.folder) / each).stat().st_size for each in files(memory)) < 1 << 20
    found = recalled(memory)
    if parts == MOST_TASKS:
        assert found is None
        return
    assert (found.rows, found.calls) == (parts * many.rows, parts * many.calls)
    assert found.seconds == pytest.approx(parts * many.seconds)
    if parts == 200:
        # What tasks have less room for is level again where many of them add up.
        mine = found.weights(8).rest + np.bincount(found.keys >> np.uint64(61), found.key_seconds)
        assert mine.max() < 1.1 * mine.mean()


def test_a_run_of_very_many_tasks_is_not_recorded(memory, caplog):
    caplog.set_level("INFO", "unskew")
    assert memory.start_run("job", "print", MOST_TASKS + 1) is None
    assert "more than 2048 tasks" in caplog.text
    place = memory.start_run("job", "print")
    place.write(record(1), MOST_TASKS, 1)
    assert files(memory) == []


def test_a_changed_function_is_told_once(memory, caplog):
    caplog.set_level("INFO", "unskew")
    run(memory, [record(1)])
    for _ in range(2):
        assert memory.recall("job", "other") is None
    assert [each.getMessage() for each in caplog.records] == [
        "job has changed since its recorded run, which is not used"
    ]


HARM = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\xff"),
    "foreign": lambda path: path.write_bytes(b"PAR1 something else"),
    "huge": lambda path: os.truncate(path, 1 << 40),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "forbidden": lambda path: (path.unlink(), path.symlink_to("/proc/self/mem")),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_summary_is_ignored_with_one_warning(memory, caplog, harm):
    run(memory, [record(1)])
    recalled(memory)
    path = Path(memory.folder) / "job/summary"
    HARM[harm](path)
    for _ in range(2):
        assert recalled(memory) is None
    (told,) = warnings(caplog)
    assert str(path) in told
    if harm != "folder":
        run(memory, [record(2)])
        assert recalled(memory) == record(2)
        assert recalled(memory) == record(2)


@pytest.mark.parametrize("harm", HARM)
def test_a_run_with_a_damaged_part_is_ignored_with_one_warning(memory, caplog, harm):
    run(memory, [record(1), record(2)])
    good = recalled(memory)
    place = run(memory, [record(3), record(4)])
    path = Path(place.folder) / "part-1"
    HARM[harm](path)
    for _ in range(2):
        assert recalled(memory) == good
    (told,) = warnings(caplog)
    assert str(path) in told


@pytest.mark.parametrize("tasks", [2, 20_000_000, 2**31 - 1])
def test_a_part_may_say_any_number_of_tasks(memory, caplog, tasks):
    run(memory, [record(1)])
    good = recalled(memory)
    place = run(memory, [record(2)])
    for partition in (0, 5, -1):
        content = part_bytes(Part(partition, 1, tasks, record(2)))
        (Path(place.folder) / f"part-{partition % 100}").write_bytes(content)
    tracemalloc.start()
    assert recalled(memory) == good
    assert tracemalloc.get_traced_memory()[1] < 10e6
    tracemalloc.stop()


def test_a_run_of_endless_parts_is_not_read(memory, caplog):
    run(memory, [record(1)])
    good = recalled(memory)
    place = run(memory, [record(2)])
    for partition in range(1, 10):
        (Path(place.folder) / f"part-{partition}").write_bytes(bytes(1 << 20))
    assert recalled(memory) == good
    (told,) = warnings(caplog)
    assert place.folder in told
    assert "its parts have more than" in told


def test_a_file_that_is_named_like_a_run_is_ignored_with_one_warning(memory, caplog):
    run(memory, [record(1)])
    good = recalled(memory)
    file = Path(memory.folder) / "job" / new_run()
    file.write_text("no folder")
    for _ in range(2):
        assert recalled(memory) == good
    run(memory, [record(2)])
    assert recalled(memory) == record(2)
    (told,) = warnings(caplog)
    assert str(file) in told


def test_keys_that_no_table_can_tell_apart_are_ignored_with_one_warning(memory, caplog):
    keys = np.arange(40, dtype=np.uint64) << np.uint64(58)
    alike = WorkRecord.of(keys, np.full(40, 10), np.full(40, 1.0), fingerprint="print")
    run(memory, [alike])
    for _ in range(2):
        assert memory.recall("job", "print", by_table=True) is None
    (told,) = warnings(caplog)
    assert "its keys are no hashes" in told
    assert memory.recall("job", "print") is not None


def test_every_changed_byte_of_a_part_is_noticed():
    content = part_bytes(Part(1, 2, None, record(1, keys=2)))
    assert part_of(content) == Part(1, 2, None, record(1, keys=2))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        with pytest.raises(InputError):
            part_of(bytes(damaged))
    for size in range(len(content)):
        with pytest.raises(InputError):
            part_of(content[:size])


def test_files_of_others_are_left_alone(memory, tmp_path):
    place = run(memory, [record(1)])
    job = Path(memory.folder) / "job"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/precious").write_text("keep")
    (job / "notes.txt").write_text("mine")
    (job / "20260101").mkdir()
    (Path(place.folder) / ".part-0.crc").write_bytes(b"x")
    (job / "20990101T000000000000-deadbeef").symlink_to(tmp_path / "elsewhere")
    assert recalled(memory) == record(1)
    run(memory, [record(2)])
    assert recalled(memory) == record(2)
    assert (job / "notes.txt").exists()
    assert (tmp_path / "elsewhere/precious").read_text() == "keep"


@pytest.mark.parametrize("folder", ["/dev/null", "/proc/nothing", "nonsense://where"])
def test_a_folder_that_cannot_be_reached_is_told_once(folder, caplog):
    for _ in range(2):
        assert Memory(folder).recall("job", "print") is None
        assert Memory(folder).start_run("job", "print") is None
    told = warnings(caplog)
    assert all(f"the memory {folder}/job cannot be" in each for each in told)
    assert sum("written" in each for each in told) == 1


def test_a_folder_that_cannot_be_written_is_still_read(memory, caplog, monkeypatch):
    run(memory, [record(1)])

    def refuse(*_):
        raise PermissionError("read-only file system")

    monkeypatch.setattr("unskew._spark.frames.arrow_files.ArrowFolder.replace", refuse)
    for _ in range(2):
        assert recalled(memory) == record(1)
    (told,) = warnings(caplog)
    assert "summary cannot be written: read-only file system" in told


def test_files_that_another_driver_removes_are_no_damage(memory, caplog, monkeypatch):
    run(memory, [record(1)])
    good = recalled(memory)
    run(memory, [record(2), record(3)])
    read = module.ArrowFolder.read

    def meanwhile(self, name, most):
        if name.endswith("part-1"):
            recall_of_another()
        return read(self, name, most)

    def recall_of_another():
        monkeypatch.setattr(module.ArrowFolder, "read", read)
        assert recalled(memory) != good

    monkeypatch.setattr(module.ArrowFolder, "read", meanwhile)
    assert recalled(memory) == WorkRecord.merged([record(2), record(3)])
    assert warnings(caplog) == []


def test_drivers_at_once_never_see_less_than_a_whole_run(memory, caplog):
    whole = {WorkRecord.merged([record(seed), record(seed + 1)]) for seed in range(200)}
    problems = []

    def drive(number):
        chosen = random.Random(number)
        for _ in range(15):
            seed = chosen.randrange(199)
            run(memory, [record(seed), record(seed + 1)], tasks=2)
            found = recalled(memory)
            if found not in whole:
                problems.append(found)

    threads = [threading.Thread(target=drive, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert warnings(caplog) == []
    assert recalled(memory) in whole
    assert "job/summary" in files(memory)


def test_runs_sort_by_time():
    names = [new_run() for _ in range(100)]
    assert len(set(names)) == 100
    stamps = [name.partition("-")[0] for name in names]
    assert stamps == sorted(stamps)


class Session:
    """The settings of a session of Spark Connect, which has no JVM to ask."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self, **settings):
        self.conf = {name.replace("_", "."): value for name, value in settings.items()}


def test_remember_goes_before_the_setting_of_the_session(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_chosen", module._UNSET)
    assert SETTING == "spark.unskew.memory"
    assert Memory.of(Session()) is None
    session = Session(spark_unskew_memory="s3a://bucket/memory")
    assert Memory.of(session) == Memory("s3a://bucket/memory")
    unskew.remember(str(tmp_path))
    assert Memory.of(session) == Memory(str(tmp_path))
    unskew.remember(tmp_path / "further")
    assert Memory.of(session) == Memory(str(tmp_path / "further"))
    unskew.remember(None)
    assert Memory.of(session) is None


def test_a_path_that_depends_on_the_working_directory_is_made_whole(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    session = Session()
    assert module.qualified(session, "memory") == str(tmp_path / "memory")
    assert module.qualified(session, "~/memory") == "/home/somebody/memory"
    assert module.qualified(session, "file:/memory") == "file:/memory"


@pytest.mark.parametrize("path", [3, b"bytes", ["list"]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ParameterError, match="a folder or None"):
        unskew.remember(path)
    with pytest.raises(ParameterError, match="names no folder"):
        unskew.remember("")


def test_a_summary_is_small():
    assert len(to_bytes(record(1, rows=400_000, keys=50_000))) < 200_000
