"""From reports to tables, and what a commit carries: without Spark."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import numpy as np
import pytest

from unskew._spark.frames.files import DamagedFileError
from unskew._spark.stateful import reports
from unskew._spark.stateful.commits import Commit, CommitLog
from unskew._spark.stateful.controller import (
    MOVE,
    MOVED_KEY,
    Controller,
    planner_and_threshold,
)
from unskew._spark.stateful.intervals import Interval
from unskew._spark.stateful.reports import WorkerReport
from unskew._spark.stateful.state_files import StateFile
from unskew._spark.stateful.stored_state import last_commit
from unskew._spark.stateful.worker_step import Touched
from unskew.errors import ParameterError, StateError, UnknownNameError
from unskew.partitioners import RoutingTable
from unskew.rebalancing import KeyStatistics, Mixed, Scan

# Hashes whose upper bits send them to worker 0 of 2.
KEYS = np.arange(1, 9, dtype=np.int64)


def report(hashes, rows, memory=None, pace=1.0, worker=0, unlisted=0, **totals) -> WorkerReport:
    """A row takes `pace` seconds."""
    rows, hashes = list(map(int, rows)), list(map(int, hashes))
    size = np.asarray(rows if memory is None else list(memory), dtype=np.int64)
    touched = Touched(hashes, hashes, rows, [pace * each for each in rows])
    found = WorkerReport.of(worker, touched, size, **totals)
    return dataclasses.replace(
        found, totals=dataclasses.replace(found.totals, unlisted_rows=unlisted)
    )


def controller(**changes) -> Controller:
    settings = {"planner": Mixed(theta=0.1), "theta": 0.1, "interval": 1, "window": 2}
    return Controller(**settings | {"cost": "rows"} | changes)


def test_an_unbalanced_interval_gives_a_better_table():
    control = controller()
    assert control.learn([report(KEYS, [10] * 8)])
    plan = control.plan(RoutingTable(2), 2)
    assert plan is not None
    assert plan.loads.tolist() == [40.0, 40.0]
    assert control.plan(plan.table, 2) is None  # level now


def test_a_plan_that_gains_too_little_is_left_alone():
    control = controller()
    control.learn([report([1, 2], [1000, 1])])  # one key is the load
    assert control.plan(RoutingTable(2), 2) is None
    assert control.plan(RoutingTable(3), 2) is not None  # but other workers need other tables


@pytest.mark.parametrize(("cost", "pace"), [("seconds", 1.0), ("rows", 1.0), ("rows", 0.5)])
def test_a_move_must_pay_for_itself_whatever_cost_is_counted_in(cost, pace):
    """Forty rows a batch would be saved, in ten batches four hundred; four keys move."""
    control = controller(cost=cost, payback=10)
    control.learn([report(KEYS, [10] * 8, pace=pace)])
    expected = MOVE + 4 * MOVED_KEY
    control.slowness = pace * 399 / expected
    assert control.plan(RoutingTable(2), 2) is not None
    control.slowness = pace * 401 / expected
    assert control.plan(RoutingTable(2), 2) is None
    assert control.plan(RoutingTable(3), 2) is not None
    control = controller(cost=cost, payback=None)
    control.learn([report(KEYS, [10] * 8, pace=pace)])
    control.slowness = pace * 401 / expected
    assert control.plan(RoutingTable(2), 2) is not None


def test_one_slow_move_is_not_the_last():
    """A key took a second to move where each plan would save a tenth of one."""
    control = controller(payback=10, interval=1)
    control.learn([report(KEYS, [10] * 8, pace=0.1 / 400, moved_keys=1, move_seconds=1.0)])
    assert control.plan(RoutingTable(2), 2) is None
    for _ in range(30):
        control.learn([report(KEYS, [10] * 8, pace=0.1 / 400)])
    assert control.plan(RoutingTable(2), 2) is not None


def test_workers_hand_over_side_by_side():
    control = controller()
    took = {"moved_keys": 500, "move_seconds": MOVE + 1000 * MOVED_KEY}
    control.learn([report(KEYS, [10] * 8, **took)] * 2)
    assert control.slowness == pytest.approx(1.0)


def test_a_plan_must_promise_more_than_the_last_ones_were_wrong_by():
    control = controller(window=2)
    control.learn([report(KEYS, [10] * 8)])
    plan = control.plan(RoutingTable(2), 2)
    assert plan is not None
    here = plan.table.router().route(KEYS.view(np.uint64))
    uneven = np.where(here == 0, 12, 8)  # it promised 40 and 40, and it came to 48 and 32
    control.learn([report(KEYS, uneven)])
    assert control.plan(plan.table, 2) is None
    control.learn([report(KEYS, np.where(here == 0, 16, 4))])  # now other keys are hot
    assert control.plan(plan.table, 2) is not None


def test_without_a_planner_or_rows_keys_stay():
    control = controller(planner=None)
    control.learn([report(KEYS, [10] * 8)])
    assert control.plan(RoutingTable(2), 2) is None
    assert controller().plan(RoutingTable(2), 2) is None
    control = controller()
    control.learn([])
    assert control.plan(RoutingTable(2), 2) is None


def test_intervals_sum_costs_and_the_window_keeps_state():
    control = controller(interval=2)
    assert not control.learn([report([1, 2], [5, 5], [100, 200])])
    assert control.learn([report([2, 3], [1, 1], [210, 300])])
    known = control.statistics(RoutingTable(2))
    assert known.keys.tolist() == [1, 2, 3]
    assert known.cost.tolist() == [5.0, 6.0, 1.0]
    assert known.memory.tolist() == [100.0, 210.0, 300.0]
    for _ in range(2):
        control.learn([report([3], [4], [310])])
    known = control.statistics(RoutingTable(2))
    assert known.cost.tolist() == [0.0, 0.0, 8.0]
    assert known.memory.tolist() == [100.0, 210.0, 310.0]
    for _ in range(2):
        control.learn([])
    assert control.statistics(RoutingTable(2)).keys.tolist() == [3]


def test_state_of_keys_without_rows_stays_where_the_table_has_it():
    """Out of the window an entry would go, and with it the state, home: no plan weighed that."""
    control = controller(window=1)
    control.learn([report(KEYS, [10] * 8)])
    plan = control.plan(RoutingTable(2), 2)
    assert plan.table.keys.size == 4
    gone = int(plan.table.keys[0])  # its state is deleted, so that nothing would move
    control.learn([report([gone, *range(11, 19)], [1, *[10] * 8], [0, *[5] * 8])])
    control.forecast_imbalance = None  # that other keys are hot now is not its fault
    again = control.plan(plan.table, 2)
    control.learn([report(range(11, 19), [10] * 8)])
    control = _restored(control)
    third = control.plan(plan.table, 2)
    for later in (again, third):
        still = set(plan.table.keys.tolist()) - {gone}
        assert still <= set(later.table.keys.tolist())
        assert not still & set(later.migration.keys.tolist())
    assert gone not in third.table.keys.tolist()
    # With another number of workers their state may have to move, and is counted.
    fewer = control.plan(plan.table, 1)
    assert still <= set(fewer.migration.keys.tolist())


def _restored(control):
    other = controller(window=control.window)
    other.restore(json.loads(json.dumps(control.to_json())))
    return other


def test_what_a_worker_does_not_list_stays_its_own():
    """A worker with many light keys is full, although no key of it stands out."""
    control = controller()
    light = report([], [], worker=0, unlisted=60), report(KEYS, [10] * 8, worker=1)
    control.learn(light)
    table = RoutingTable(2, KEYS.astype(np.uint64), np.ones(8, dtype=np.int32))
    statistics = control.statistics(table)
    assert statistics.rest_of(2).tolist() == [60.0, 0.0]
    assert statistics.unlisted == 60.0
    plan = control.plan(table, 2)
    assert plan.loads.tolist() == [70.0, 70.0]  # one key goes, and not four
    assert plan.loads_before.tolist() == [60.0, 80.0]
    assert _restored(control).statistics(table).rest_of(2).tolist() == [60.0, 0.0]
    assert control.statistics(RoutingTable(3)).rest_of(3).tolist() == [20.0] * 3


def test_keys_are_listed_by_rows_or_by_seconds(monkeypatch):
    """Cost may be in rows: a key of many cheap rows must not be summed away."""
    monkeypatch.setattr(reports, "MOST_KEYS", 2)
    touched = Touched([1, 2, 3], [1, 2, 3], [900, 50, 50], [0.01, 0.5, 0.02])
    found = WorkerReport.of(0, touched, np.ones(3, dtype=np.int64))
    assert found.hashes.tolist() == [1, 2]
    assert found.totals.unlisted_rows == 50


def test_what_is_listed_is_all_that_a_plan_needs():
    """Keys beyond the listed ones are too light to be moved: with all of them it is the same."""
    drawn, table = np.random.default_rng(5), RoutingTable(8)
    shares = np.arange(1, 60_001) ** -0.7
    rows = drawn.multinomial(2_000_000, shares / shares.sum())
    hashes = drawn.integers(-(2**63), 2**63 - 1, rows.size)
    owners = table.router().route(hashes.view(np.uint64))
    assert np.bincount(owners).min() > reports.MOST_KEYS
    control = controller(planner=Mixed(theta=0.001), theta=0.001)
    told = []
    for worker in range(8):
        its, theirs = hashes[owners == worker].tolist(), rows[owners == worker].tolist()
        touched = Touched(its, its, theirs, [1e-6 * each for each in theirs])
        told.append(WorkerReport.of(worker, touched, rows[owners == worker]))
    control.learn(told)
    plan = control.plan(table, 8)
    everything = KeyStatistics.of(hashes.view(np.uint64), rows)
    best = Mixed(theta=0.001).rebalance(everything, table, 8)
    assert plan.table == best.table
    np.testing.assert_allclose(plan.loads, best.loads)
    assert plan.loads.max() <= 1.001 * plan.mean < plan.loads_before.max()


def test_a_planner_may_plan_on_compact_statistics():
    """Keys that cost and hold the same are one record, and each of them is placed."""
    keys = np.arange(1, 401, dtype=np.int64)
    control = controller(planner=Mixed(theta=0.1, r=3))
    control.learn([report(keys, [10] * 400)])
    plan = control.plan(RoutingTable(2), 2)
    assert plan.table.keys.size == plan.migration.keys.size >= 180
    assert plan.loads.max() <= 1.1 * 2000


def test_memory_survives_a_commit():
    control = controller()
    control.learn([report(KEYS, [10] * 8, range(8))])
    other = controller()
    other.restore(json.loads(json.dumps(control.to_json())))
    for name in ("keys", "cost", "memory"):
        np.testing.assert_array_equal(
            getattr(other.statistics(RoutingTable(2)), name),
            getattr(control.statistics(RoutingTable(2)), name),
        )


def test_a_long_memory_keeps_the_largest_keys_and_all_cost():
    interval = Interval.of([report(range(100), range(100))], "rows")
    kept = interval.largest(10)
    assert kept.keys.tolist() == list(range(90, 100))
    assert kept.cost.sum() + kept.unlisted == interval.cost.sum()


def test_two_keys_of_one_hash_count_together():
    interval = Interval.of([report([7, 7], [1, 2])], "rows")
    assert interval.keys.tolist() == [7]
    assert interval.cost.tolist() == [3.0]


def test_planners_by_name():
    assert planner_and_threshold("mixed", 0.2, 50) == (Mixed(theta=0.2, table=50), 0.2)
    assert planner_and_threshold("mixed", None, None) == (Mixed(theta=0.08, table=3000), 0.08)
    assert planner_and_threshold("minmig", 0.2, 50)[0].theta == 0.2
    assert planner_and_threshold("readj", 0.25, 50)[0].theta == 0.25
    assert planner_and_threshold(None, 0.2, 50) == (None, 0.2)
    with pytest.raises(UnknownNameError):
        planner_and_threshold("best", 0.2, 50)


def test_a_ready_planner_has_its_own_settings():
    assert planner_and_threshold(Mixed(theta=0.0), None, None) == (Mixed(theta=0.0), 0.0)
    assert planner_and_threshold(Scan(), 0.2, None) == (Scan(), 0.2)
    for settings in ((0.1, None), (None, 50)):
        with pytest.raises(ParameterError, match="not allowed with a rebalancer object"):
            planner_and_threshold(Mixed(), *settings)


def commit() -> Commit:
    table = RoutingTable(3, np.array([2**63 + 5, 7], np.uint64), np.array([2, 0], np.int32))
    files = (
        (StateFile("files/a", 10, "aa", 3, 2, -5, 7), StateFile("files/b", 9, "bb", 2, 4)),
        (),
        (StateFile("files/c", 8, "cc", 1, 3),),
    )
    planned = RoutingTable(3, np.array([7], np.uint64), np.array([1], np.int32))
    return Commit(4, "query", "key", "state", table, planned, 9, files, 17, {"intervals": []})


def test_commits_come_back_as_written():
    found = Commit.from_bytes(commit().to_bytes())
    assert found.table.keys.tolist() == [7, 2**63 + 5]
    assert found.table.owners.tolist() == [0, 2]
    assert found.planned.owners.tolist() == [1]
    assert found.files == commit().files
    assert found.names == {"files/a", "files/b", "files/c"}
    assert found.to_bytes() == commit().to_bytes()


def test_damaged_commits_are_noticed_wherever_they_are_cut():
    whole = commit().to_bytes()
    for end in range(len(whole) - 1):
        with pytest.raises(DamagedFileError, match="checksum"):
            Commit.from_bytes(whole[:end])
    with pytest.raises(DamagedFileError, match="checksum"):
        Commit.from_bytes(whole.replace(b'"batch": 4', b'"batch": 5'))


def test_another_format_is_refused(monkeypatch):
    monkeypatch.setattr("unskew._spark.stateful.commits.FORMAT", 3)
    later = commit().to_bytes()
    monkeypatch.undo()
    with pytest.raises(StateError, match="format 3 and this unskew reads format 2"):
        Commit.from_bytes(later)


def test_a_bug_of_the_reader_is_not_reported_as_damage(monkeypatch):
    def broken(text):
        raise TypeError("a bug of the reader")

    files = Folder({f"commits/{n:012d}.json": commit().to_bytes() for n in (3, 4)})
    monkeypatch.setattr("unskew._spark.stateful.commits.from_json", broken)
    with pytest.raises(TypeError, match="a bug of the reader"):
        CommitLog(files).last()
    assert len(files.content) == 2


class Folder:
    """Files in memory, with all that commits name, whole."""

    folder = "folder"

    def __init__(self, content):
        self.content = content

    def names(self, folder):
        names = (name.partition("/") for name in self.content)
        return sorted(name for kind, _, name in names if kind == folder)

    def read(self, name):
        return self.content[name]

    def lengths(self, folder):
        return {"a": 10, "b": 9, "c": 8}

    def checksum(self, name):
        return name[-1] * 2

    def remove(self, name):
        del self.content[name]


def test_damaged_commits_are_removed_only_where_that_is_asked_for(caplog):
    intact, damaged = f"commits/{4:012d}.json", f"commits/{5:012d}.json"
    unnamed = {"commits/notes.json": b"", "files/a": b"", "files/of an attempt that failed": b""}
    files = Folder({intact: commit().to_bytes(), damaged: b"{", **unnamed})
    log = CommitLog(files)
    with caplog.at_level("WARNING", logger="unskew"):
        found = log.last()
    assert found.batch == 4
    assert damaged in files.content
    log.mend(found)
    assert set(files.content) == {intact, "commits/notes.json", "files/a"}
    assert "falling back to batch 4" in caplog.text


def test_the_files_of_a_commit_are_checked_once():
    """After the loss of an executor it is read again: to check all state takes minutes."""
    checked = []

    class Counted(Folder):
        def checksum(self, name):
            checked.append(name)
            return super().checksum(name)

        def create(self, name, content):
            self.content[name] = content

    log = CommitLog(Counted({f"commits/{4:012d}.json": commit().to_bytes()}))
    assert log.last().batch == log.last().batch == 4
    assert sorted(checked) == ["files/a", "files/b", "files/c"]
    log.write(dataclasses.replace(commit(), batch=5))
    assert log.last().batch == 5
    assert len(checked) == 3


def test_a_reader_takes_a_newer_commit_where_a_query_removes_the_files_of_its_own():
    older, newer = (dataclasses.replace(commit(), batch=batch).to_bytes() for batch in (4, 5))

    class Running(Folder):
        def checksum(self, name):
            if f"commits/{4:012d}.json" in self.content:
                self.content = {f"commits/{5:012d}.json": newer}
                raise DamagedFileError("compacted away")
            return super().checksum(name)

    class Damaged(Folder):
        def checksum(self, name):
            raise DamagedFileError("gone")

    assert last_commit(Running({f"commits/{4:012d}.json": older})).batch == 5
    with pytest.raises(StateError, match="every commit"):
        last_commit(Damaged({f"commits/{4:012d}.json": older}))


def test_state_without_commits_is_not_removed():
    files = Folder({"files/a": b"all that is left"})
    log = CommitLog(files)
    log.mend(log.last())
    assert files.content


@pytest.mark.parametrize(
    ("text", "why"),
    [(b"{", "not JSON"), (b"[]", "a format"), (b"{}", "a format"), (b'{"format": 2}', "no field")],
)
def test_documents_that_are_not_commits(text, why):
    content = text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"
    with pytest.raises(DamagedFileError, match=why):
        Commit.from_bytes(content)
