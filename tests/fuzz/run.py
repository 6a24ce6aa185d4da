"""Draw jobs at random and compare each with plain Spark, row by row and type by type.

    python -m tests.fuzz.run --seed 1 --cases 2000 --seconds 600
    python -m tests.fuzz.run --seed 1 --only 17
    python -m tests.fuzz.run --seed 1 --cases 2000 --json docs/results/fuzz.json --go-on

The last one goes on after the cases that the file has: repeat it until it has all of them, then
`make docs` writes the table of docs/reliability.md.

Exits with 1 if a result is wrong, an error untyped, or a job hung.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import logging
import os
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from tests.fuzz.cases import Case, draw_case
from tests.fuzz.reduction import reduced
from tests.fuzz.report import Report, script
from tests.fuzz.running import Outcome, run_case
from tests.fuzz.session_settings import INTERPRETED


def session() -> SparkSession:
    """Two tasks at once, few of them, and plans that run once on twenty rows interpreted.

    Compiled plans are among the settings that are drawn.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # The daemon of the Python workers is found there.
    folders = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    settings = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": (
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC"
        ),
        "spark.python.daemon.module": "tests.worker_daemon",
        **INTERPRETED,
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    }
    spark = SparkSession.builder.appName("unskew-fuzz").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # Errors are what is looked for: they are in the report.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return spark


def fuzz(
    spark: SparkSession,
    report: Report,
    numbers: range,
    seconds: float,
    tries: int = 40,
    verbose: bool = False,
) -> None:
    """Try the cases until the time is over; failures of a new kind are reduced."""
    start, before = time.monotonic(), report.seconds
    run = functools.partial(run_case, spark)
    for number in numbers:
        if report.seconds - before > seconds:
            break
        case = draw_case(report.seed, number)
        outcome = run(case)
        if verbose:
            print(
                f"{report.seconds:6.1f} s {number} {case.way}: {outcome.verdict} {outcome.cause}",
                flush=True,
            )
        if report.add(case, outcome):
            _show(report, case, outcome, run, tries)
        report.seconds = before + time.monotonic() - start


def _show(
    report: Report, case: Case, outcome: Outcome, run: Callable[[Case], Outcome], tries: int
) -> None:
    """Reduce a failure and print it."""
    key = (outcome.verdict, outcome.cause, case.way)
    if outcome.verdict != "hung" and tries:
        case, outcome = reduced(case, outcome, run, tries)
    text = script(case)
    report.scripts[key] = outcome.detail, text
    print(f"# case {case.number}: {' '.join(key)}")
    print(textwrap.indent(outcome.detail[:600], "#   "), text, sep="\n", flush=True)


@contextlib.contextmanager
def _temporary_files() -> Iterator[None]:
    """What cases write is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="unskew-fuzz-") as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--tries", type=int, default=40, help="runs to reduce a failing case")
    parser.add_argument("--only", type=int, help="run this case alone")
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    parser.add_argument("--json", type=Path, help="write the report to this file")
    parser.add_argument("--go-on", action="store_true", help="go on with the report in that file")
    given = parser.parse_args()
    report = Report(given.seed)
    if given.go_on and given.json.exists():
        report = Report.from_json(given.json.read_text())
    numbers = range(given.first + report.cases, given.first + given.cases)
    if given.only is not None:
        numbers = range(given.only, given.only + 1)
    spark = session()
    with contextlib.suppress(KeyboardInterrupt), _temporary_files():
        fuzz(spark, report, numbers, given.seconds, given.tries, given.verbose)
    print(report.listing(), report.table(), sep="\n\n")
    print(f"{report.cases} cases of seed {report.seed} in {report.seconds:.0f} s")
    if given.json:
        given.json.write_text(report.to_json())
    return min(report.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
