"""How many tasks a session runs at once, whatever its settings say of parallelism."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from unskew._spark.planning import machine
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


def session(master, running, **settings):
    given = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
    context = SimpleNamespace(
        defaultParallelism=1000,
        getConf=lambda: SimpleNamespace(get=given.get),
        _jsc=Java(running),
    )
    conf = {"spark.master": master, "spark.sql.shuffle.partitions": "200"}
    return SimpleNamespace(sparkContext=context, conf=conf)


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
