"""The cluster of the experiments: 24 slots on four machines, two of which have two slots.

Work is emulated by sleeping, so slots need no cores of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unskew.errors import SessionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from unskew.testing import LocalCluster
    from unskew.testing.cluster.kafka_broker import KafkaBroker

SLOTS = (2, 2, 10, 10)
WORKERS = sum(SLOTS)
SOURCES = 8
SLOW = 0.3

SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    # For merging partial counts, which are few; a placement names its own number.
    "spark.sql.shuffle.partitions": str(SOURCES),
    # A worker waits for its own slot rather than take one on another machine.
    "spark.locality.wait": "10s",
    # Rows come from everywhere: where most of them were written must not place a task.
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@dataclass(frozen=True, slots=True)
class Running:
    """A cluster that is up, and the session on it."""

    cluster: LocalCluster
    spark: SparkSession
    broker: KafkaBroker | None = None
    """What streams come from; files if there is none."""

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
def machines(kafka: Path | None = None) -> Iterator[Running]:
    """Start the cluster, and a broker if there are jars; `running` finds it until the block ends.

    `kafka` is a folder with `broker` and `connector`, as `make kafka-test` fetches them.
    """
    from pyspark.sql import SparkSession

    from unskew.testing import LocalCluster, Machine, stop_on_sigterm
    from unskew.testing.cluster.kafka_broker import KafkaBroker

    stop_on_sigterm()
    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()  # It is not on this cluster.
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster([Machine(slots) for slots in SLOTS]))
        broker = None
        if kafka is not None:
            place = cluster.folder / "kafka"
            broker = stack.enter_context(KafkaBroker(kafka / "broker", place, partitions=SOURCES))
        session = cluster.session({**SETTINGS, **session_jars(kafka)})
        yield stack.enter_context(using(Running(cluster, session, broker)))


def session_jars(kafka: Path | None) -> dict[str, str]:
    """The setting by which a session has Kafka's connector."""
    if kafka is None:
        return {}
    return {"spark.jars": ",".join(map(str, sorted((kafka / "connector").glob("*.jar"))))}


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
