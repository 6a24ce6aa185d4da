"""Jobs of ours beside the user's: bounded in time, and named as ours in Spark's own pages."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from pyspark.sql import Observation, SparkSession

from unskew._spark.frames.files import is_connect

_log = logging.getLogger("unskew")

Result = TypeVar("Result")


def beside(
    session: SparkSession, what: str, seconds: float, job: Callable[[], Result]
) -> Result | None:
    """Run a job whose result is welcome but not needed; None if it fails or takes too long."""
    tag = f"unskew-{uuid.uuid4()}"
    with _named(session, tag, f"unskew: {what}"):
        done = threading.Event()
        watch = threading.Thread(target=_watch, args=(session, tag, seconds, done), daemon=True)
        watch.start()
        try:
            return job()
        except Exception as problem:  # The user's own job will tell what is wrong with the rows.
            _log.debug("%s did not finish: %r", what, problem)
            return None
        finally:
            done.set()


@contextlib.contextmanager
def _named(session: SparkSession, tag: str, text: str) -> Iterator[None]:
    """Jobs of this thread can be cancelled by `tag`, and are described as ours."""
    if is_connect(session):
        session.addTag(tag)
        try:
            yield
        finally:
            session.removeTag(tag)
        return
    context = session.sparkContext
    before = {name: context.getLocalProperty(name) for name in _GROUP}
    context.setJobGroup(tag, text, interruptOnCancel=True)
    try:
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)  # type: ignore[arg-type]


_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


def _watch(session: SparkSession, tag: str, seconds: float, done: threading.Event) -> None:
    """Cancel what still runs after `seconds`: again and again, it may only be about to start."""
    done.wait(seconds)
    while not done.wait(0.2):
        if is_connect(session):
            session.interruptTag(tag)
        else:
            session.sparkContext.cancelJobGroup(tag)


def observed(observation: Observation, wait: float) -> dict[str, Any] | None:
    """The metrics of an observation; None if no action has run on its rows within `wait` seconds.

    `Observation.get` would wait forever.
    """
    found: list[dict[str, Any]] = []
    reader = threading.Thread(target=lambda: found.append(observation.get), daemon=True)
    reader.start()
    reader.join(wait)
    return found[0] if found else None
