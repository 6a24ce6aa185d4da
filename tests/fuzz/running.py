"""Runs a case on a session and says how it went; a case that takes too long counts as hung."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession
from tests.fuzz.cases import HELPERS, IMPORTS, Case
from tests.fuzz.comparison import Rows, difference, rows_of, schema_of
from tests.fuzz.follow_ups import SHOWS_ANY_EQUAL
from tests.fuzz.refusals import reason_of
from tests.fuzz.renaming import concerns, renamed

from unskew.errors import UnskewError

VERDICTS = ("equal", "both fail", "refused", "wrong", "untyped", "hung")
FAILURES = ("wrong", "untyped", "hung")


@dataclass(frozen=True)
class Outcome:
    """How a case went: the verdict, its cause in a few words, and the details."""

    verdict: str
    cause: str = ""
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.verdict in FAILURES


@dataclass(frozen=True)
class _Answer:
    schema: list[str]
    rows: Rows
    error: BaseException | None = None


def run_case(spark: SparkSession, case: Case, seconds: float = 60) -> Outcome:
    """Both jobs, compared."""
    found: list[Outcome] = []

    def work() -> None:
        # Parts of Spark ask the session of their thread for settings: the TIME type, for one.
        jvm: Any = spark._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
        try:
            with _settings(spark, dict(case.settings)):
                found.append(_compared(spark, case))
        except Exception as error:
            found.append(Outcome("hung" if _cancelled(error) else "untyped", *_named(error)))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        spark.sparkContext.cancelAllJobs()
        thread.join(10)
        return Outcome("hung", f"longer than {seconds:g} s")
    spark.catalog.clearCache()
    return found[0]


@contextlib.contextmanager
def _settings(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def _compared(spark: SparkSession, case: Case) -> Outcome:
    # Functions of a module that cannot be imported travel to the workers by value.
    names: dict[str, Any] = {"__name__": "fuzz_case", "spark": spark}
    exec(IMPORTS + HELPERS + case.prelude + case.follow, names)
    try:
        exec(case.tables(), names)
    except Exception as error:
        return Outcome("both fail", "source: " + _named(error)[0])
    ours = _answer(case.ours, names, case)
    if isinstance(ours.error, UnskewError) and (reason := reason_of(ours.error)):
        return Outcome("refused", reason)  # Whatever plain Spark does: nobody gets wrong rows.
    plain = _answer(case.plain, names, case)
    if plain.error is not None and ours.error is None and concerns(case, names):
        plain = _answer(case.plain, renamed(case, names), case)
        ours = _answer(case.ours, names, case)  # Its function now tells names of columns alone.
    return _judged(plain, ours, "reference(" in case.plain)


def _answer(text: str, names: dict[str, Any], case: Case) -> _Answer:
    try:
        rows = eval(text, names)
        schema = schema_of(rows)
        any_equal = "agg" in case.way or case.follow_up in SHOWS_ANY_EQUAL
        return _Answer(schema, rows_of(names["follow"](rows), any_equal))
    except Exception as error:
        return _Answer([], Rows(), error)


def _judged(plain: _Answer, ours: _Answer, reference: bool = False) -> Outcome:
    # Where Spark lacks an aggregate it stands for itself, and its failures are ours to refuse.
    excused = not (reference and isinstance(plain.error, PythonException))
    if ours.error is not None and plain.error is not None and excused:
        return Outcome("both fail", _named(plain.error)[0])
    if plain.error is not None and _CRASH in str(plain.error):
        return Outcome("both fail", "Spark crashes")
    if plain.error is not None and ours.error is None:
        return Outcome("wrong", "Spark raises, we do not", str(plain.error)[:300])
    if isinstance(ours.error, UnskewError):
        return Outcome("untyped", "no documented reason: " + _named(ours.error)[0])
    if ours.error is not None:
        return Outcome("untyped", *_named(ours.error))
    if plain.schema != ours.schema:
        return Outcome("wrong", "schema", f"{plain.schema}\n{ours.schema}")
    rows = difference(plain.rows, ours.rows)
    return Outcome("wrong", "rows", rows) if rows else Outcome("equal")


_CRASH = "java.lang.NullPointerException"
"""A bug of Spark's own, and no rule to keep."""


def _named(error: BaseException) -> tuple[str, str]:
    """An error in a few words, without names and numbers, and in more."""
    text = str(error)
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    raised = re.findall(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Invalid)\b: .*)$", text, re.M)
    words = condition or (raised[-1] if raised else text.splitlines()[0] if text else "")
    if condition and raised and "PYTHON" in condition.upper():
        words = raised[-1]
    return f"{type(error).__name__} {re.sub(r'[0-9]+', '#', words)[:100]}", text[-1500:]


def _cancelled(error: BaseException) -> bool:
    return "cancelled" in str(error)
