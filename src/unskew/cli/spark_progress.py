"""How far the Spark jobs of a command are."""

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


class Standing(NamedTuple):
    """What the stages that run have done."""

    tasks: int
    of: int
    rows: int


@contextmanager
def spark_bar(what: str, spark: SparkSession, shown: bool = True) -> Iterator[None]:
    """A bar of Spark's tasks, with rows a second, while the block runs its jobs.

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
            now = standing(spark)
        except Exception:  # Whatever ends the session must not be told by its bar.
            return
        if not now.of:
            continue
        if now.rows < before:
            started = time.monotonic()  # Other stages run now.
        before = now.rows
        speed = now.rows / max(time.monotonic() - started, _EVERY)
        bar.update(task, total=now.of, completed=now.tasks, speed=speed,
                   tasks=f"{now.tasks} of {now.of} tasks")  # fmt: skip


def standing(spark: SparkSession) -> Standing:
    """Tasks and rows of the stages that run; rows are those that finished tasks have read."""
    context: Any = spark.sparkContext
    stages = context._jsc.sc().statusStore().activeStages()
    tasks = of = rows = 0
    for place in range(stages.size()):
        stage = stages.apply(place)
        tasks += stage.numCompleteTasks()
        of += stage.numTasks()
        rows += stage.inputRecords() + stage.shuffleReadRecords()
    return Standing(tasks, of, rows)
