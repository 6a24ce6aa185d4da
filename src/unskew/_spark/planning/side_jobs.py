"""Jobs of ours beside the user's: bounded in time, and named as ours in Spark's own pages."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from pyspark.sql import Observation, SparkSession

from unskew._spark.frames.files import is_connect
from unskew.errors import ParameterError

BUDGET = "spark.unskew.budget"
"""The setting of a session: how many seconds such a job may take."""
_LEAST, _SHARE = 1.0, 0.03  # Without it: so many seconds, or this share of the user's job.
_START = 3.0  # The first of its kind waits for Python workers to start and for Spark to compile it.

_log = logging.getLogger("unskew")

_started: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()

Result = TypeVar("Result")


def budget(session: SparkSession, forecast: float = 0.0, least: float = _LEAST) -> float:
    """How many seconds jobs of ours may take beside one of the user's that takes `forecast`."""
    given = session.conf.get(BUDGET, None)
    if given is None:
        return max(least, _SHARE * forecast)
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ParameterError(f"{BUDGET}={given} is not a time; set it to seconds, 0 or more")
    return seconds


def ran_before(session: SparkSession, what: str) -> bool:
    """Whether a job of this kind ran in the session: the first takes longer."""
    return what in _started.get(session, ())


def longest(session: SparkSession, what: str, seconds: float) -> float:
    """After how long a job of this kind is cancelled that may take `seconds`."""
    return seconds + (0.0 if ran_before(session, what) else _START)


class Allowance:
    """The seconds that all jobs of ours beside one of the user's may take together."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._spent = 0.0

    def left(self, forecast: float = 0.0) -> float:
        """What is left of them, if the user's job takes `forecast`."""
        return max(budget(self._session, forecast) - self._spent, 0.0)

    def beside(
        self,
        what: str,
        seconds: float,
        job: Callable[[], Result | None],
        late: Result | None = None,
    ) -> Result | None:
        """As the function of this name; what the first of its kind takes longer is not counted."""
        free = longest(self._session, what, 0.0)
        began = time.monotonic()
        try:
            return beside(self._session, what, seconds, job, late)
        finally:
            self._spent += max(time.monotonic() - began - free, 0.0)


def beside(
    session: SparkSession,
    what: str,
    seconds: float,
    job: Callable[[], Result | None],
    late: Result | None = None,
) -> Result | None:
    """Run a job whose result is welcome but not needed: None if it fails, `late` if it is late.

    Without a second it does not run at all, not even for the first time.
    """
    if seconds <= 0:
        return None
    seconds = longest(session, what, seconds)
    _started.setdefault(session, set()).add(what)
    tag = f"unskew-{uuid.uuid4()}"
    with _named(session, tag, what):
        done, over = threading.Event(), threading.Event()
        watching = (session, tag, seconds, done, over)
        watch = threading.Thread(target=_watch, args=watching, daemon=True)
        watch.start()
        try:
            return job()
        except Exception as problem:  # The user's own job will tell what is wrong with the rows.
            _log.debug("%s did not finish: %r", what, problem)
            return late if over.is_set() else None
        finally:
            done.set()


@contextlib.contextmanager
def asked_for(session: SparkSession, what: str) -> Iterator[None]:
    """Jobs of ours that the user's request cannot do without: named, and not bounded."""
    with _named(session, f"unskew-{uuid.uuid4()}", what):
        yield


@contextlib.contextmanager
def _named(session: SparkSession, tag: str, what: str) -> Iterator[None]:
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
    context.setJobGroup(tag, f"unskew: {what}", interruptOnCancel=True)
    try:
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)  # type: ignore[arg-type]


_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


def _watch(
    session: SparkSession, tag: str, seconds: float, done: threading.Event, over: threading.Event
) -> None:
    """Cancel what still runs after `seconds`: again and again, it may only be about to start."""
    done.wait(seconds)
    while not done.wait(0.2):
        over.set()
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
