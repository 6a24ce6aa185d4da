"""The machine that a session's tasks run on: how many at a time, on how many cores, how quick."""

from __future__ import annotations

import heapq
import os
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from unskew._spark.frames.files import is_connect

Seconds = NDArray[np.float64]

MORE = 4
"""More tasks than slots, so that a slot which is free early takes another."""

_asked: dict[str, int] = {}  # Slots by session of Spark Connect, where asking takes a job.
_paces: WeakKeyDictionary[SparkSession, float] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Machine:
    """Slots, each of which runs a task at a time, and the cores that they share."""

    slots: int
    cores: int
    pace: float = 1.0
    """How many times as long a core takes as one of the machine of the cost model's figures."""

    @classmethod
    def of(cls, session: SparkSession) -> Machine:
        """The slots of all executors, also of those to come; a local Spark may lack cores."""
        local = _is_local(session)
        slots = max(1, _slots(session, local))
        cores = min(slots, os.cpu_count() or slots) if local else slots
        return cls(slots, cores, pace_of(session))

    def makespan(self, seconds: Seconds) -> float:
        """How long tasks take that start in this order, each on the first slot that is free.

        >>> Machine(slots=2, cores=2).makespan(np.array([3.0, 1.0, 1.0, 1.0]))
        3.0
        """
        if seconds.size <= self.slots:
            return float(seconds.max(initial=0.0))
        free = seconds[: self.slots].tolist()
        heapq.heapify(free)
        for each in seconds[self.slots :].tolist():
            heapq.heapreplace(free, free[0] + each)
        return float(max(free))


def is_calibrated(session: SparkSession) -> bool:
    """Whether a task of the session has told of its core."""
    return session in _paces


def pace_of(session: SparkSession) -> float:
    """As a task of the session told; until then as the cost model's figures have it."""
    return _paces.get(session, 1.0)


def note_pace(session: SparkSession, pace: float) -> None:
    """What a task of the session told of its core."""
    _paces[session] = pace


def shuffle_partitions(session: SparkSession) -> int:
    """How many partitions Spark makes behind a shuffle, before it packs small ones together."""
    return int(str(session.conf.get("spark.sql.shuffle.partitions")))


def _is_local(session: SparkSession) -> bool:
    """Whether all tasks run on the driver's machine."""
    try:
        return str(session.conf.get("spark.master")).startswith("local")
    except PySparkException:
        return False


def _slots(session: SparkSession, local: bool) -> int:
    if not is_connect(session):
        return max(_running(session), 0 if local else _to_come(session))
    name = str(session.session_id)  # type: ignore[attr-defined]
    if name not in _asked:
        ids = session.range(0, 1 << 16).select(F.spark_partition_id().alias("id")).agg(F.max("id"))
        _asked[name] = int(ids.collect()[0][0]) + 1
    return _asked[name]


def _running(session: SparkSession) -> int:
    """How many tasks run at once on the executors that are there.

    Not `defaultParallelism`, which may be set to anything and knows of no task with several cores.
    """
    java: Any = session.sparkContext._jsc
    context = java.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def _to_come(session: SparkSession) -> int:
    """How many on the executors that were asked for, or may be asked for a stage of usual size."""
    conf = session.sparkContext.getConf()
    cores, each = (int(conf.get(f"spark.{of}", "1")) for of in ("executor.cores", "task.cpus"))
    slots = max(cores // each, 1)
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        # There are none yet, or few, and as many come as have tasks.
        tasks = shuffle_partitions(session)
        most = int(conf.get("spark.dynamicAllocation.maxExecutors", str(tasks)))
        return min(most * slots, tasks)
    return int(conf.get("spark.executor.instances", "0")) * slots
