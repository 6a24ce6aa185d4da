"""What a join keeps of the keys that it counted, and when it counts them anew; without Spark."""

from __future__ import annotations

import os
import random
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.spark.test_cost_model import zipf
from tests.spark.test_join_decision import job as join_job

from unskew._spark.planning import memory as memory_module
from unskew._spark.planning.decision import RANGES
from unskew._spark.planning.join_counts import JoinCounts
from unskew._spark.planning.join_memory import MOST_RUNS, JoinMemory, doubt
from unskew._spark.planning.join_record import JoinRecord, join_bytes, join_of
from unskew._spark.planning.join_work import JoinKeys
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.record_bytes import sealed
from unskew._spark.planning.remembered_work import profile_of, record_of
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.planning.work_record import MOST_KEYS, WorkRecord
from unskew.errors import InputError
from unskew.partitioners import KeyGrouping

SIZES = (60_000.0, 5000.0)


@pytest.fixture(autouse=True)
def _told_anew():
    memory_module.warn_once.cache_clear()
    memory_module._note_once.cache_clear()


@pytest.fixture
def memory(tmp_path):
    return JoinMemory(Memory(str(tmp_path / "memory")), "job", "print")


def profile(counts, heavy=500, seed=0):
    """The statistics of keys with these counts, the heaviest first, some of them by name."""
    keys = np.random.default_rng(seed).integers(0, 2**64, counts.size, dtype=np.uint64)
    return profile_of_keys(keys, counts.astype(float), heavy)


def profile_of_keys(keys, counts, heavy):
    loads = np.bincount(KeyGrouping(RANGES).router().route(keys), counts, minlength=RANGES)
    named = keys[:heavy], counts[:heavy]
    return KeyProfile(
        RANGES, int(counts.sum()), keys.size, 0, loads, *named, error=0.0, method="counted"
    )


def profiles(seed=0):
    """Of both sides; with another seed both have other keys."""
    return profile(zipf(60_000, 2000, 1.2), seed=seed), profile(np.full(400, 10.0), seed=seed)


def never():
    raise AssertionError("asked, although an earlier run tells")


def counted(memory, made, sizes=SIZES, meeting=None):
    """A run that counts, or takes what it finds."""
    asked = []
    counts = JoinCounts(memory, sizes)

    def ask():
        asked.append(made)
        return made

    found = counts.profiles(ask)
    if meeting is not None:
        counts.meeting(lambda: meeting)
    counts.keep()
    return found, bool(asked)


def test_counts_are_those_of_the_run_before(memory):
    made = profiles()
    assert counted(memory, made, meeting=0.25) == (made, True)
    counts = JoinCounts(memory, SIZES)
    for before, after in zip(made, counts.profiles(never), strict=True):
        assert after.method == "an earlier run"
        assert (after.workers, after.rows, after.distinct) == (RANGES, before.rows, before.distinct)
        assert after.keys.tolist() == before.keys.tolist()
        np.testing.assert_allclose(after.counts, before.counts, atol=0.5)
        np.testing.assert_allclose(after.rest, before.rest, atol=1)
    assert counts.meeting(never) == (0.25, "the first 2,000 rows of an earlier run")


def test_a_way_is_forecast_as_by_the_counts_themselves(memory):
    made = profiles()
    counted(memory, made)
    job = join_job(60_000, 5000, pair=1e-3)
    ways = [
        replace(job, keys=JoinKeys.of(*each)).ways()
        for each in (made, JoinCounts(memory, SIZES).profiles(never))
    ]
    for one, other in zip(*ways, strict=True):
        assert one.name == other.name
        assert one.seconds == pytest.approx(other.seconds, rel=0.01)


def test_a_key_that_is_heavy_on_one_side_is_named_on_both(memory):
    keys = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64)
    counts = np.arange(20_000, 0, -1.0)
    sizes = (counts.sum(), counts.sum())
    counted(memory, [profile_of_keys(each, counts, 20_000) for each in (keys, keys[::-1])], sizes)
    left, right = JoinCounts(memory, sizes).profiles(never)
    assert left.keys.size == right.keys.size == MOST_KEYS
    for after, order in ((left, keys), (right, keys[::-1])):
        assert set(after.keys.tolist()) == {*keys[:2048].tolist(), *keys[-2048:].tolist()}
        assert after.keys[0] == order[0]
        assert after.rows == counts.sum()
    (file,) = Path(memory.memory.folder).rglob("join")
    assert file.stat().st_size < 1 << 20


def test_after_some_runs_keys_are_counted_anew(memory, caplog):
    caplog.set_level("INFO", "unskew")
    made = profiles()
    asked = [counted(memory, made)[1] for _ in range(2 * MOST_RUNS + 3)]
    once = [True, *[False] * MOST_RUNS]
    assert asked == [*once, *once, True]
    told = f"job is counted anew: {MOST_RUNS} runs have taken the same counts"
    assert caplog.messages == [told] * 2


def test_keys_that_have_changed_are_told_and_counted_every_time_until_they_hold_still(
    memory, caplog
):
    caplog.set_level("INFO", "unskew")

    def runs(seed):
        return [counted(memory, profiles(seed))[1] for _ in range(MOST_RUNS + 1)]

    runs(seed=1)
    # The first one finds other keys, the second the same again, and the third trusts them.
    assert runs(seed=2)[:3] == [True, True, False]
    assert sum("of the work was with other keys than in the run before" in each
               for each in caplog.messages) == 1  # fmt: skip
    assert "job is counted anew: its keys had changed when they were counted last" in caplog.text


def test_keys_of_a_side_that_grew_or_shrank_are_counted_anew(memory, caplog):
    caplog.set_level("INFO", "unskew")
    made = profiles()
    counted(memory, made)
    for sizes in ((70_000.0, 5000.0), (50_000.0, 4000.0)):
        assert not counted(memory, made, sizes)[1]
    assert counted(memory, made, (76_000.0, 5000.0))[1]
    assert "the left side has about 76,000 rows, and had 60,000" in caplog.text
    assert counted(memory, made, (76_000.0, 3000.0))[1]
    assert "the right side has about 3,000 rows, and had 5,000" in caplog.text
    assert counted(memory, made, (None, 3000.0))[1]
    assert "the size of the left side was not known both times" in caplog.text
    assert not counted(memory, made, (None, 3000.0))[1]


def test_rows_that_no_side_of_this_size_has_are_not_believed(memory):
    counted(memory, (profile(np.full(10, 1e9)), profile(np.full(10, 5.0))))
    assert "too small for the 10,000,000,000 rows" in doubt(memory.recall(), SIZES)


def test_what_could_not_be_counted_is_not_kept(memory):
    assert counted(memory, None) == (None, True)
    assert not Path(memory.memory.folder).exists()
    assert counted(memory, None, meeting=0.5) == (None, True)
    counts = JoinCounts(memory, SIZES)
    assert counts.meeting(never)[0] == 0.5
    made = profiles()
    assert counts.profiles(lambda: made) == made
    counts.keep()
    assert memory.recall().counted
    assert memory.recall().meeting == 0.5


def test_without_a_memory_keys_are_counted_each_time():
    made = profiles()
    assert [counted(None, made) for _ in range(2)] == [(made, True)] * 2


def test_another_join_of_the_same_name_is_not_taken_for_this_one(memory, caplog):
    caplog.set_level("INFO", "unskew")
    made = profiles()
    counted(memory, made)
    assert counted(memory._replace(fingerprint="other"), made)[1]
    assert "job has changed since its recorded run, which is not used" in caplog.messages
    assert counted(memory._replace(job="another"), made)[1]


HARM = {
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\xff"),
    "foreign": lambda path: path.write_bytes(b"PAR1 something else"),
    "a record of groups": lambda path: path.write_bytes(join_bytes(a_record())[56 + 32 :]),
    "huge": lambda path: os.truncate(path, 1 << 40),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_file_is_ignored_with_one_warning(memory, caplog, harm):
    made = profiles()
    counted(memory, made)
    (file,) = Path(memory.memory.folder).rglob("join")
    HARM[harm](file)
    assert memory.recall() is None
    assert counted(memory, made) == (made, True)
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert str(file) in warnings[0]
    assert sum("ignored a damaged file" in each for each in warnings) == 1
    if harm != "folder":  # Which stands in the way of any file.
        assert not counted(memory, made)[1]


@pytest.mark.parametrize("folder", ["/dev/null", "/proc/nothing", "nonsense://where"])
def test_a_folder_that_cannot_be_reached_is_told_once(folder, caplog):
    made = profiles()
    memory = JoinMemory(Memory(folder), "job", "print")
    for _ in range(2):
        assert counted(memory, made) == (made, True)
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert sum("cannot be written" in each for each in warnings) == 1


def test_keys_that_no_table_can_tell_apart_are_ignored(memory, caplog):
    keys = np.arange(40, dtype=np.uint64) << np.uint64(58)
    counted(memory, [profile_of_keys(keys, np.full(40, 10.0), 40)] * 2)
    assert memory.recall() is None
    assert "its keys are no hashes" in caplog.text


def a_record(**more):
    left, right = (record_of(each, each.keys, "print") for each in profiles())
    return JoinRecord(left, right, SIZES, 0.25, 3, **more)


def test_bytes_are_the_record():
    for record in (a_record(), a_record().drifted(0.5), JoinRecord.none("print")):
        assert join_of(join_bytes(record)) == record


def test_every_changed_byte_is_noticed():
    some = profile(np.full(3, 4.0))
    side = record_of(some, some.keys, "print")
    content = join_bytes(JoinRecord(side, side, SIZES))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        with pytest.raises(InputError):
            join_of(bytes(damaged))
        with pytest.raises(InputError):
            join_of(content[:place])


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ({"sizes": (float("nan"), 1.0)}, "its sizes are"),
        ({"sizes": (float("inf"), 1.0)}, "its sizes are"),
        ({"sizes": (-2.0, 1.0)}, "its sizes are"),
        ({"meeting": 1.5}, "its sizes are"),
        ({"left": WorkRecord.none("another")}, "two joins"),
        ({"left": record_of(profile(np.full(10, 3e11)), np.empty(0), "print")}, "rows"),
    ],
)
def test_numbers_that_cannot_be_are_refused(harm, told):
    with pytest.raises(InputError, match=told):
        join_of(join_bytes(replace(a_record(), **harm)))
    with pytest.raises(InputError, match="too short"):
        join_of(sealed(b"notes"))


numbers = st.lists(
    st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**30)),
    max_size=40,
    unique_by=lambda n: n[0],
)


@given(left=numbers, right=numbers, rest=st.integers(0, 2**30))
def test_whatever_is_found_forecasts_are_times(left, right, rest):
    def record(found):
        keys, rows = (np.array(each, dtype=kind) for each, kind in zip(
            zip(*found, strict=True) if found else ((), ()), (np.uint64, np.int64), strict=True
        ))  # fmt: skip
        every = np.full(1024, rest)
        return WorkRecord(keys, rows, rows, np.ones_like(rows), every, every, np.ones(1024))

    keys = JoinKeys.of(*(profile_of(record(each), RANGES) for each in (left, right)))
    ways = replace(join_job(1e6, 1e6), keys=keys).ways()
    assert all(0 <= way.seconds < float("inf") for way in ways)


def test_drivers_at_once_never_see_less_than_a_whole_record(memory, caplog):
    made = [profiles(seed) for seed in range(6)]
    whole = {tuple(each.keys[:1].tolist()[0] for each in pair) for pair in made}
    problems = []

    def drive(number):
        chosen = random.Random(number)
        for _ in range(15):
            counted(memory, chosen.choice(made))
            record = memory.recall()
            found = int(record.left.keys[0]), int(record.right.keys[0])
            if found not in whole:
                problems.append(found)

    threads = [threading.Thread(target=drive, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert [each for each in caplog.records if each.levelname == "WARNING"] == []
