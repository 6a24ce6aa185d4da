"""Draw jobs at random and compare each with plain Spark, row by row and type by type.

    python -m tests.fuzz.run --seed 1 --cases 2000 --seconds 600
    python -m tests.fuzz.run --seed 1 --only 17

Exits with 1 if a result is wrong, an error untyped, or a job hung.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import logging
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from tests.fuzz.cases import draw_case
from tests.fuzz.reduction import reduced
from tests.fuzz.report import Report, script
from tests.fuzz.running import run_case


def session() -> SparkSession:
    """Two tasks at once, and few of them."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.timeType.enabled": "true",
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
    }
    spark = SparkSession.builder.appName("unskew-fuzz").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # Errors are what is looked for: they are in the report.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    return spark


def fuzz(
    spark: SparkSession, report: Report, numbers: range, seconds: float, tries: int = 40
) -> None:
    """Try the cases until the time is over; failures of a new kind are reduced."""
    start = time.monotonic()
    run = functools.partial(run_case, spark)
    for number in numbers:
        if time.monotonic() - start > seconds:
            break
        case = draw_case(report.seed, number)
        outcome = run(case)
        if os.environ.get("FUZZ_T"):
            print(
                number,
                case.way,
                case.source,
                case.follow_up,
                outcome.verdict,
                outcome.cause,
                round(time.monotonic() - start, 2),
                flush=True,
            )
        if report.add(case, outcome):
            key = (outcome.verdict, outcome.cause, case.way)
            if outcome.verdict != "hung" and tries:
                case, outcome = reduced(case, outcome, run, tries)
            report.scripts[key] = outcome.detail, script(case)
            print(f"case {number}: {' '.join(key)}\n{outcome.detail[:600]}", flush=True)
            print("-" * 20, script(case), "-" * 20, sep="\n", flush=True)
        report.seconds = time.monotonic() - start


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--tries", type=int, default=40, help="runs to reduce a failing case")
    parser.add_argument("--only", type=int, help="run this case alone")
    parser.add_argument("--json", type=Path, help="write the report to this file")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.cases)
    if given.only is not None:
        numbers = range(given.only, given.only + 1)
    report = Report(given.seed)
    with contextlib.suppress(KeyboardInterrupt):
        fuzz(session(), report, numbers, given.seconds, given.tries)
    print(report.listing(), report.table(), sep="\n\n")
    print(f"{report.cases} cases of seed {report.seed} in {report.seconds:.0f} s")
    if given.json:
        given.json.write_text(report.to_json())
    return min(report.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
