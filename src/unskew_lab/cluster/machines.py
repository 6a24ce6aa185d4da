"""The cluster of the experiments: 24 slots on four machines, two of which have two slots.

Work is emulated by sleeping, so slots need no cores of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unskew.errors import SessionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from unskew.testing import LocalCluster

SLOTS = (2, 2, 10, 10)
WORKERS = sum(SLOTS)
SOURCES = 8
SLOW = 0.3


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster that is up, and the session on it."""

    cluster: LocalCluster
    spark: SparkSession

    @property
    def folder(self) -> Path:
        """A folder for inputs, removed with the cluster."""
        return self.cluster.folder

    def set_speeds(self, speeds: Sequence[float]) -> None:
        """Set the speed of each machine."""
        for machine, speed in enumerate(speeds):
            self.cluster.set_speed(machine, speed)


_running: list[Running] = []


@contextmanager
def machines() -> Iterator[Running]:
    """Start the cluster; `running` finds it until the block ends."""
    from pyspark.sql import SparkSession

    from unskew.testing import LocalCluster, Machine, stop_on_sigterm

    stop_on_sigterm()
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()  # It is not on this cluster.
    with LocalCluster([Machine(slots) for slots in SLOTS]) as cluster:
        settings = {
            "spark.sql.adaptive.enabled": "false",
            # For merging partial counts, which are few; a placement names its own number.
            "spark.sql.shuffle.partitions": str(SOURCES),
            # Tasks must not wait for the machine that has the data: it is all one.
            "spark.locality.wait": "0s",
            "spark.sql.autoBroadcastJoinThreshold": "-1",
        }
        with using(Running(cluster, cluster.session(settings))) as up:
            yield up


@contextmanager
def using(up: Running) -> Iterator[Running]:
    """Make `up` the cluster that cells are measured on inside the block."""
    _running.append(up)
    try:
        yield up
    finally:
        _running.pop()


def running() -> Running:
    """The cluster that is up."""
    if not _running:
        raise SessionError("no cluster is running; measure inside `with machines():`")
    return _running[-1]
