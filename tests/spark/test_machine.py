"""How many tasks a session runs at once, whatever its settings say of parallelism."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from unskew._spark.planning import machine, pace
from unskew._spark.planning.machine import Machine


class Java:
    """What is asked of a session's JVM."""

    def __init__(self, running):
        self.maxNumConcurrentTasks = lambda profile: running

    def sc(self):
        return self

    def resourceProfileManager(self):  # noqa: N802
        return self

    def defaultResourceProfile(self):  # noqa: N802
        return self


class Session(SimpleNamespace):
    """Of these settings."""

    __hash__ = object.__hash__


def session(master, running, **settings):
    given = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    context = SimpleNamespace(
        defaultParallelism=1000,
        getConf=lambda: SimpleNamespace(get=given.get),
        _jsc=Java(running),
    )
    conf = {"spark.master": master, "spark.sql.shuffle.partitions": "200"}
    return Session(sparkContext=context, conf=conf)


DYNAMIC = {"dynamicAllocation_enabled": "true"}


@pytest.mark.parametrize(
    ("master", "running", "settings", "slots"),
    [
        ("local[4]", 4, {}, 4),
        ("local[4]", 2, {"task_cpus": "2"}, 2),
        ("local[4]", 4, DYNAMIC, 4),
        ("spark://host:7077", 16, {}, 16),
        ("spark://host:7077", 0, {}, 1),
        ("local-cluster[2,1,1024]", 2, {}, 2),
        ("yarn", 0, {"executor_instances": "5", "executor_cores": "4"}, 20),
        ("yarn", 0, {"executor_instances": "5", "executor_cores": "4", "task_cpus": "2"}, 10),
        ("yarn", 0, DYNAMIC, 200),
        ("yarn", 4, {**DYNAMIC, "dynamicAllocation_maxExecutors": "2147483647"}, 200),
        ("yarn", 4, {**DYNAMIC, "dynamicAllocation_maxExecutors": "6"}, 6),
        ("yarn", 300, DYNAMIC, 300),
    ],
)
def test_slots_are_those_of_executors_that_are_there_or_come(master, running, settings, slots):
    assert Machine.of(session(master, running, **settings)).slots == slots


@pytest.mark.spark
@pytest.mark.classic("Spark Connect shows no executors")
def test_a_local_session_tells_its_slots(spark):
    assert machine._running(spark) == Machine.of(spark).slots == 2


def test_a_session_has_the_pace_that_a_task_of_it_told():
    mine, other = session("local[4]", 4), session("local[4]", 4)
    assert Machine.of(mine).pace == 1.0
    machine.note_pace(mine, 2.5)
    assert Machine.of(mine).pace == 2.5
    assert Machine.of(other).pace == 1.0


def test_a_pace_is_the_time_of_fixed_work_within_bounds(monkeypatch):
    seconds = iter([0.9, 0.3, 0.5, 0.7, *[1e-9] * 4, *[1e9] * 4])
    monkeypatch.setattr(pace, "_fixed_work", lambda: next(seconds))
    monkeypatch.setattr(pace, "_THERE", 0.2)
    assert pace.measured_pace() == pytest.approx(1.5)
    assert pace.measured_pace() == pace._QUICKEST
    assert pace.measured_pace() == pace._SLOWEST


def test_fixed_work_takes_time():
    assert pace._fixed_work() > 0
