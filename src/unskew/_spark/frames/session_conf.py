"""Session settings that keep placed state from being shuffled in every batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_PUSHED = "org.apache.spark.sql.catalyst.optimizer.PushDownLeftSemiAntiJoin"
_EXCLUDED = "spark.sql.optimizer.excludedRules"


@contextmanager
def pinned_shuffle_conf(session: SparkSession, workers: int) -> Iterator[None]:
    """Set what keeps placed state in place while Spark plans; the user's settings are restored."""
    wanted = {
        # It would merge small partitions, and with them workers.
        "spark.sql.adaptive.enabled": "false",
        # Else a join on (slot, hash) shuffles both sides, though they are placed by slot.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        # Else fewer workers than this are taken for too little parallelism.
        "spark.sql.shuffle.partitions": str(workers),
        # Else the lookup of touched keys becomes one for each layer, and their union, of which
        # Spark knows no partitioning, is shuffled: tasks as many as layers times workers.
        _EXCLUDED: ",".join(filter(None, (session.conf.get(_EXCLUDED, None), _PUSHED))),
    }
    before = {name: session.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
