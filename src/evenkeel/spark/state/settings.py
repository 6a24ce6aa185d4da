"""Session settings without which state would be moved about in every batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def stay_put(session: SparkSession, workers: int) -> Iterator[None]:
    """Let placed state stay where it is while planning; the user's settings come back after."""
    wanted = {
        # It would merge small partitions, and with them workers.
        "spark.sql.adaptive.enabled": "false",
        # Else a join on (slot, hash) shuffles both sides, though they are placed by slot.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        # Else fewer workers than this are taken for too little parallelism.
        "spark.sql.shuffle.partitions": str(workers),
    }
    before = {name: session.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            session.conf.set(name, str(old))
