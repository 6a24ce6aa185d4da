"""A progress bar of the Spark jobs that a command runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining

from unskew.cli.terminal import RateColumn, errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY = 0.3


class ActiveStages(NamedTuple):
    """Completed tasks, all tasks and rows read of the active stages."""

    tasks: int
    of: int
    rows: int


@contextmanager
def spark_bar(what: str, spark: SparkSession, shown: bool = True) -> Iterator[None]:
    """Show a bar of Spark's tasks and rows per second while the block runs its jobs.

    The block keeps the main thread: Ctrl-C reaches it there, and Spark cancels its jobs.
    """
    if not (shown and errors.is_terminal):
        yield
        return
    with Progress(
        TextColumn("{task.description:24.24}"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[tasks]}"),
        RateColumn("rows"),
        TimeElapsedColumn(),
        TextColumn("left"),
        Remaining(compact=True),
        console=errors,
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=None, tasks="", speed=None)
        done = threading.Event()
        poller = threading.Thread(target=_follow, args=(spark, bar, task, done), daemon=True)
        poller.start()
        try:
            yield
        finally:
            done.set()
            poller.join(5)


def _follow(spark: SparkSession, bar: Progress, task: TaskID, done: threading.Event) -> None:
    started, before = time.monotonic(), 0
    while not done.wait(_EVERY):
        try:
            now = active_stages(spark)
        except Exception:  # The block reports why the session ended, not its bar.
            return
        if not now.of:
            continue
        if now.rows < before:
            started = time.monotonic()  # Other stages run now.
        before = now.rows
        speed = now.rows / max(time.monotonic() - started, _EVERY)
        bar.update(task, total=now.of, completed=now.tasks, speed=speed,
                   tasks=f"{now.tasks} of {now.of} tasks")  # fmt: skip


def active_stages(spark: SparkSession) -> ActiveStages:
    """Tasks and rows of the active stages; only finished tasks report the rows that they read."""
    context: Any = spark.sparkContext
    stages = context._jsc.sc().statusStore().activeStages()
    tasks = of = rows = 0
    for place in range(stages.size()):
        stage = stages.apply(place)
        tasks += stage.numCompleteTasks()
        of += stage.numTasks()
        rows += stage.inputRecords() + stage.shuffleReadRecords()
    return ActiveStages(tasks, of, rows)
