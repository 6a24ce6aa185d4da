"""A query listener that records what the workers did in each micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from unskew._spark.monitoring.feeds import Feed, lines_feed, log_feed, prometheus_feed
from unskew._spark.monitoring.hot_keys import from_tasks
from unskew._spark.monitoring.progress import BatchProgress

OBSERVED = "unskew"
"""The name of the observation in which a query reports what its workers did."""


class BatchListener(StreamingQueryListener):
    """Passes the record of each micro-batch of one query, or of all, to feeds."""

    def __init__(self, feeds: Sequence[Feed], query: str | None) -> None:
        self.feeds = tuple(feeds)
        self.query = query

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Ignored: nothing is known yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Pass the record of a finished micro-batch on."""
        progress = event.progress
        record = record_of(progress)
        if record is None or self.query not in (None, progress.name, str(progress.id)):
            return
        for feed in self.feeds:
            feed(record)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Ignored: there were no rows."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Ignored: feeds keep nothing open."""


def watch(
    spark: SparkSession,
    *feeds: Feed,
    folder: str | Path | None = None,
    prometheus: str | Path | None = None,
    query: str | None = None,
) -> BatchListener:
    """Log the record of every micro-batch whose rows unskew routes, and pass it to feeds.

    Call it before the query starts; `spark.streams.removeListener` ends it.

    Parameters
    ----------
    spark : SparkSession
        The session in which queries run.
    *feeds : callable
        Functions of a `BatchProgress`.
    folder : str or Path, optional
        Gets `batches.jsonl`; a folder in the checkpoint is a good one.
    prometheus : str or Path, optional
        A file for the node exporter's textfile collector.
    query : str, optional
        The name or the id of the only query to watch.

    Returns
    -------
    BatchListener
        The listener.
    """
    wanted: list[Feed] = [log_feed]
    if folder is not None:
        wanted.append(lines_feed(folder))
    if prometheus is not None:
        wanted.append(prometheus_feed(prometheus, query or "all"))
    # Last: when a user's function is called, the files tell of the batch.
    wanted.extend(feeds)
    listener = BatchListener(wanted, query)
    spark.streams.addListener(listener)
    return listener


def batches(query: StreamingQuery) -> list[BatchProgress]:
    """The records of the last micro-batches of one query, without a listener.

    Spark remembers a hundred (`spark.sql.streaming.numRecentProgressUpdates`).
    """
    records = [record_of(progress) for progress in query.recentProgress]
    return [record for record in records if record is not None]


def record_of(progress: Any) -> BatchProgress | None:
    """The record of a batch; None if it had no rows or unskew does not route the query."""
    seen = _plain(progress.observedMetrics.get(OBSERVED))
    if seen is None or not seen["tasks"]:
        return None
    loads, figures = figures_of(seen["tasks"], seen["workers"])
    return BatchProgress.of(progress.batchId, loads, progress.batchDuration / 1000, **figures)


def _plain(seen: Any) -> Any:
    """The observed row as a mapping: Spark Connect gives a row as its values and its schema."""
    if isinstance(seen, list):
        return [_plain(each) for each in seen]
    row = seen.asDict() if isinstance(seen, Row) else seen
    if not isinstance(row, dict) or row.keys() != {"values", "schema"}:
        return row
    names = [field["name"] for field in row["schema"]["fields"]]
    return dict(zip(names, map(_plain, row["values"]), strict=True))


def figures_of(reports: Iterable[Any], workers: int) -> tuple[list[int], dict[str, Any]]:
    """The rows of each worker, and the replicas and hot keys of all tasks."""
    # A task that ran twice reported twice, and counts once.
    tasks = {each["worker"]: each for each in reports}
    loads = [int(tasks[w]["rows"]) if w in tasks else 0 for w in range(workers)]
    replicas = sum(int(each["keys"]) for each in tasks.values())
    hottest = from_tasks(each["hottest"] for each in tasks.values())
    return loads, {"replicas": replicas, "hottest": hottest}


def seconds_of(reports: Iterable[Any], workers: int) -> NDArray[np.float64]:
    """The time that each worker spent on its rows."""
    seconds = np.zeros(workers)
    for each in reports:
        seconds[each["worker"]] = each["seconds"]
    return seconds
