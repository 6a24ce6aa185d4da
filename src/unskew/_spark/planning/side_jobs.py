"""Jobs of ours beside the user's: bounded in time, and named as ours in Spark's own pages."""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import TypeVar

from pyspark.sql import SparkSession

from unskew._spark.frames.files import is_connect

_log = logging.getLogger("unskew")

Result = TypeVar("Result")


def beside(
    session: SparkSession, what: str, seconds: float, job: Callable[[], Result]
) -> Result | None:
    """Run a job whose result is welcome but not needed; None if it fails or takes too long."""
    tag = f"unskew-{uuid.uuid4()}"
    with _described(session, f"unskew: {what}"), _tagged(session, tag):
        timer = threading.Timer(seconds, _cancel, (session, tag))
        timer.start()
        try:
            return job()
        except Exception as problem:  # The user's own job will tell what is wrong with the rows.
            _log.debug("%s did not finish: %r", what, problem)
            return None
        finally:
            timer.cancel()


@contextlib.contextmanager
def _described(session: SparkSession, text: str) -> Iterator[None]:
    if is_connect(session):
        yield
        return
    context = session.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(text)
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


@contextlib.contextmanager
def _tagged(session: SparkSession, tag: str) -> Iterator[None]:
    add, remove = (
        (session.addTag, session.removeTag)
        if is_connect(session)
        else (session.sparkContext.addJobTag, session.sparkContext.removeJobTag)
    )
    add(tag)
    try:
        yield
    finally:
        remove(tag)


def _cancel(session: SparkSession, tag: str) -> None:
    if is_connect(session):
        session.interruptTag(tag)
    else:
        session.sparkContext.cancelJobsWithTag(tag)
