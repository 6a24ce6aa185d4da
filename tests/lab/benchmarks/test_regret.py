"""The arithmetic of regret on made-up seconds, and one small job on Spark."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from unskew.errors import NeedError, UnknownNameError
from unskew_lab.benchmarks.regret import JOBS, chosen_jobs, jobs, ways
from unskew_lab.benchmarks.regret.figures import (
    AQE,
    AUTO,
    MEMORY,
    PLAIN,
    SALTED_8,
    measurement_of,
    percentile_90,
    regret,
    summary,
)
from unskew_lab.benchmarks.regret.jobs import Job
from unskew_lab.benchmarks.regret.racing import NotOfferedError, Race, Way, race
from unskew_lab.benchmarks.regret.ways import JobWays
from unskew_lab.cli.regret_table import verdict

HEAVY = Job("mergeable", True, "heavy", 2_000)


class Stopwatch:
    """A clock that only moves when a way runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order: list[str] = []

    def way(self, name: str, *seconds: float, answer: object = "rows", judged: bool = False) -> Way:
        left = list(seconds)

        def run() -> object:
            self.order.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return answer

        return Way(name, run, judged)

    def race(self, *ways: Way) -> Race:
        return race(ways, clock=lambda: self.now)


def _job(job: Job = HEAVY, **ways: float):
    names = {"plain": PLAIN, "auto": AUTO, "memory": MEMORY, "aqe": AQE, "salted": SALTED_8}
    takes = {names.get(name, name): [seconds] for name, seconds in ways.items()}
    return measurement_of(job, Race(takes))


def test_ways_are_taken_in_turn_and_the_best_take_counts():
    watch = Stopwatch()
    found = watch.race(watch.way("a", 2.0, 1.0), watch.way("b", 1.125, 1.25, 1.5))
    assert watch.order == ["a", "b", "a", "b", "a", "b"]
    assert found.seconds == {"a": 1.0, "b": 1.125}


def test_a_way_that_cannot_win_is_not_taken_again():
    watch = Stopwatch()
    found = watch.race(watch.way("slow", 2.25), watch.way("fair", 1.75), watch.way("best", 1.0))
    assert {name: len(takes) for name, takes in found.takes.items()} == {
        "slow": 1,
        "fair": 2,
        "best": 3,
    }


def test_what_is_judged_is_taken_in_every_round():
    watch = Stopwatch()
    found = watch.race(watch.way("best", 1.0), watch.way("auto", 9.0, 8.0, 1.5, judged=True))
    assert found.takes["auto"] == [9.0, 8.0, 1.5]


def test_long_jobs_get_no_third_round():
    watch = Stopwatch()
    found = watch.race(watch.way("a", 10.0), watch.way("b", 10.0, judged=True))
    assert found.takes == {"a": [10.0, 10.0], "b": [10.0, 10.0]}


@pytest.mark.parametrize(
    "reason",
    [
        UnknownNameError("scheme", "x", ["kg"]),
        NeedError("whole keys"),
        NotOfferedError("no memory"),
    ],
)
def test_ways_that_the_library_refuses_are_left_out_with_the_reason(reason):
    watch = Stopwatch()

    def refused() -> object:
        raise reason

    found = watch.race(watch.way("plain", 1.0), Way("new", refused, judged=True))
    assert found.left_out == {"new": str(reason)}
    assert list(found.takes) == ["plain"]


def test_other_rows_end_the_benchmark():
    watch = Stopwatch()
    with pytest.raises(AssertionError, match="b gives other rows than a"):
        watch.race(watch.way("a", 1.0, answer=[1]), watch.way("b", 1.0, answer=[2]))


def test_a_scaled_job_has_so_many_times_the_rows_and_the_work():
    for job in JOBS:
        scaled = job.scaled(4)
        assert scaled.rows == 4 * job.rows
        assert scaled.name == f"{job.name}, 4 x the rows"
        assert scaled.seconds_per_pair * scaled.rows**2 == 4 * job.seconds_per_pair * job.rows**2
        assert job.scaled(1) == job


def test_regret_is_to_the_best_that_could_have_been_taken():
    ways = {PLAIN: 4.0, "kg": 2.0, AUTO: 3.0, MEMORY: 1.0}
    assert regret(ways, AUTO) == 1.5, "what memory makes possible is not held against a first run"
    assert regret(ways, MEMORY) == 1.0
    assert regret({PLAIN: 4.0, "kg": 2.0, AUTO: 1.0}, AUTO) == 1.0


def test_a_job_tells_its_best_way_gain_and_forecast():
    takes = {PLAIN: [9.0, 8.0], "kg": [2.0], AUTO: [4.0]}
    found = measurement_of(HEAVY, Race(takes, {MEMORY: "none"}), forecast_seconds=5.0)
    assert (found.best, found.ratio, found.gain, found.memory_regret) == ("kg", 2.0, 2.0, None)
    assert found.forecast_error == 0.25
    row = found.as_dict()
    assert row["ways"] == {PLAIN: 8.0, "kg": 2.0, AUTO: 4.0}
    assert row["left_out"] == {MEMORY: "none"}


@pytest.mark.parametrize(
    ("count", "expected"), [(1, 1), (9, 9), (10, 9), (11, 10), (20, 18), (21, 19)]
)
def test_nine_of_ten_do_not_exceed_the_90th_percentile(count, expected):
    assert percentile_90([float(each) for each in range(count, 0, -1)]) == expected


def test_the_summary_has_every_target():
    join = Job("join", True, "heavy", 2_000)
    calm = Job("whole-key", False, "none", 40)
    found = [
        _job(plain=8.0, kg=1.0, auto=1.2, memory=1.0),
        _job(join, plain=4.0, aqe=2.0, salted=1.6, auto=2.0, memory=1.6),
        _job(calm, plain=1.0, auto=1.1, memory=1.0),
    ]
    rows = {row.name: (round(row.ratio, 3), row.met) for row in summary(found)}
    assert rows == {
        "regret of 3 jobs, first run: median": (1.2, False),
        "regret of 3 jobs, first run: 90th percentile": (1.25, None),
        "regret of 3 jobs, first run: worst": (1.25, True),
        "time, heavy skew and much work, first run: geometric mean": (0.274, True),
        f"time, first run: the least gain ({calm.name})": (1.1, False),
        f"{join.name}, first run": (1.25, False),
        "regret of 3 jobs, with memory: median": (1.0, True),
        "regret of 3 jobs, with memory: 90th percentile": (1.0, True),
        "regret of 3 jobs, with memory: worst": (1.0, True),
        "time, heavy skew and much work, with memory: geometric mean": (0.224, True),
        f"time, with memory: the least gain ({calm.name})": (1.0, True),
        f"{join.name}, with memory": (1.0, True),
    }


def test_without_memory_the_summary_is_of_first_runs():
    found = [_job(replace(HEAVY, skew="none"), plain=1.0, auto=2.0)]
    names = [row.name for row in summary(found)]
    assert all("first run" in name for name in names)
    assert not any("heavy skew and much work" in name for name in names)


def test_one_sentence_says_what_came_out():
    found = [_job(plain=8.0, kg=1.0, auto=1.2)]
    said = verdict(found, list(summary(found)))
    assert said == (
        "On 1 job auto takes 1.20 times the best way's time (median; 1.20 at worst) on the first "
        "run; 3 of 4 targets are met."
    )


def test_the_battery_crosses_kind_work_skew_and_keys():
    assert len(JOBS) >= 16
    assert len({job.name for job in JOBS}) == len(JOBS)
    for part in ("kind", "much", "skew"):
        assert len({getattr(job, part) for job in JOBS}) == {"kind": 4, "much": 2, "skew": 3}[part]
    for kind in ("mergeable", "whole-key", "join", "aggregate"):
        mine = [job for job in JOBS if job.kind == kind]
        assert {job.much for job in mine} == {True, False}
        assert {job.keys for job in mine} == {jobs.FEW, jobs.MANY}


def test_jobs_are_chosen_by_a_part_of_their_name(tmp_path):
    joins = chosen_jobs(JOBS, ["join"])
    assert {job.kind for job in joins} == {"join"}
    with pytest.raises(UnknownNameError, match="no job 'nothing'"):
        chosen_jobs(JOBS, ["nothing"])
    (tmp_path / "words.parquet").touch()
    assert [job.name for job in jobs.stream_jobs(tmp_path)] == [
        "mergeable, words",
        "whole-key, words",
    ]


@pytest.mark.spark
def test_a_small_job_on_spark(spark, tmp_path):
    from unskew.testing import skewed
    from unskew_lab.benchmarks.regret.ways import JobWays

    job = Job("mergeable", False, "heavy", 20)
    ways = JobWays(job, skewed(spark, 300, 20).repartition(2), None, tmp_path).all()
    found = race([way for way in ways if way.name in (PLAIN, AUTO)])
    assert set(found.takes) == {PLAIN, AUTO}
    assert measurement_of(job, found).ratio >= 1.0


def test_a_forecast_is_that_of_the_runs_own_plan(monkeypatch, tmp_path):
    expected = iter([2.5, None, 4.0])
    plan = SimpleNamespace(forecast_seconds=0.0)

    def plan_of(result):
        assert result == "auto"
        plan.forecast_seconds = next(expected)
        return plan

    monkeypatch.setattr(ways.unskew, "plan_of", plan_of, raising=False)
    monkeypatch.setattr(JobWays, "_made", lambda self, scheme: scheme)
    monkeypatch.setattr(JobWays, "_run", lambda self, make, settings: make())
    made = JobWays(HEAVY, None, None, tmp_path)
    assert made.forecast_seconds() is None
    made._auto(made.forecasts)
    assert made.forecast_seconds() == 2.5
    made._remembering()
    assert made.forecast_seconds() == 2.5
    made._auto(made.forecasts)
    assert made.forecast_seconds() is None
    made._auto(made.forecasts)
    assert made.forecast_seconds() == 4.0
