"""A local Spark session with a fixed number of slots, and temporary Spark settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def new_session(slots: int) -> SparkSession:
    """A local session with exactly so many slots; an active one may have others, and is stopped."""
    from pyspark.sql import SparkSession

    from unskew.testing import local_session

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()
    return local_session(slots, partitions=slots)


@contextmanager
def spark_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set Spark settings inside the block and restore them after it."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
