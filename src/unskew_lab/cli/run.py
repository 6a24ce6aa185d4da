"""`unskew run`: one of the papers' applications on an embedded Spark, on your data or its own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli.completion import one_of
from unskew.cli.options import Json
from unskew.cli.outputs import check_extra
from unskew.cli.settings import parse_settings
from unskew.cli.spark_progress import spark_bar
from unskew.cli.tables import check_file, read_table, renamed
from unskew.cli.terminal import console, print_json, waiting
from unskew.errors import InputError, ParameterError, UnknownNameError
from unskew.partitioners.contract import check_workers
from unskew_lab.apps import ALL, load
from unskew_lab.cli.run_streams import micro_batches, with_cost, with_period
from unskew_lab.cli.run_tables import show

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from unskew_lab.apps.asking import Asked
    from unskew_lab.apps.contract import App
    from unskew_lab.apps.running import Run, Runner

Name = Annotated[
    str,
    typer.Argument(metavar="APP", help=f"One of {', '.join(ALL)}.", autocompletion=one_of(ALL)),
]
InputPath = Annotated[
    Path | None,
    typer.Option("--input", help="A Parquet, CSV, JSON or text file; generated if not given."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="NAME=COLUMN", help="The input's name for a column of the app."
    ),
]
Scheme = Annotated[
    str | None,
    typer.Option(
        help="Scheme: planned-split, pkg, kg, auto; with keyed state kg, mixed, readj ..."
    ),
]
Workers = Annotated[int, typer.Option(help="How many workers to spread the rows over.")]
Compare = Annotated[
    bool,
    typer.Option("--compare", help="Run several schemes, each twice; the faster run counts."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the scheme, such as choices=5 for pkg; repeat it for several.",
    ),
]
Batches = Annotated[
    int | None,
    typer.Option(help="Number of micro-batches, for apps that run on a stream."),
]


Cost = Annotated[
    float | None,
    typer.Option(
        help="Milliseconds of emulated work for each row of a stream with keyed state; every "
        "worker then has a slot of its own."
    ),
]

Period = Annotated[
    int | None,
    typer.Option(
        help="Micro-batches after which workers send their partial counts on, the papers' "
        "aggregation period; every batch if not given."
    ),
]

MOST_SLOTS = 32
"""Each is a process of Python."""


def run(
    name: Name,
    input_path: InputPath = None,
    column: Columns = None,
    scheme: Scheme = None,
    workers: Workers = 8,
    settings: Settings = None,
    batches: Batches = None,
    cost: Cost = None,
    period: Period = None,
    compare: Compare = False,
    as_json: Json = False,
) -> None:
    """Run an application of the papers on an embedded Spark and check its result.

    Examples:

      unskew run wordcount --input book.txt --scheme pkg

      unskew run wordcount --scheme pkg --set choices=5

      unskew run in-degree --input edges.parquet --column target=key --compare

      unskew run wordcount --batches 10 --compare

      unskew run wordcount --batches 20 --period 5 --scheme pkg
    """
    if name not in ALL:
        raise UnknownNameError("app", name, ALL)
    check_extra("pyspark", "lab")
    check_workers(workers)
    if compare and scheme is not None:
        raise ParameterError(f"--compare chooses the schemes; remove --scheme {scheme}")
    wanted = parse_settings(settings or [])
    if compare and wanted:
        raise ParameterError("--compare runs every scheme as it is; remove --set")
    names = parse_settings(column or [], "--column", "text=body")
    if input_path is not None:
        check_file(input_path, lines=True)
    app = load(name)
    known = (*app.columns, *app.optional)
    for each in names:
        if each not in known:
            raise UnknownNameError(f"column of {name}", each, known)
    cut = micro_batches(app, batches)
    listed: tuple[str, ...] = (app.schemes[0] if scheme is None else scheme,)
    if compare:
        listed = app.stream_schemes if cut and app.stream_schemes else app.schemes
    if cost is not None:
        listed = with_cost(app, listed, cut, cost)
    if period is not None:
        listed = with_period(app, listed, cut, period)
    schemes = _asked(app, listed, wanted, workers)
    for asked in schemes:
        if app.run is not None and not cut and asked.name in app.names and app.by_routes:
            raise ParameterError(f"{asked.name} keeps state by key, on a stream; give --batches 10")
    logging.getLogger("unskew").setLevel(logging.ERROR)  # the tables show what the log would
    runs = _runs(app, input_path, names, schemes, workers, cut, (cost or 0.0) / 1000, period or 0)
    found = [each.as_dict() for each in runs]
    if as_json:
        print_json(found)
    else:
        show(found, console)
    sys.stdout.flush()


def _asked(app: App, schemes: Sequence[str], settings: dict[str, str], workers: int) -> list[Asked]:
    from unskew_lab.apps.asking import Asked

    return [Asked.of(app, each, settings, workers) for each in schemes]


def _runs(
    app: App,
    path: Path | None,
    names: Mapping[str, str],
    schemes: Sequence[Asked],
    workers: int,
    batches: int,
    cost: float,
    period: int,
) -> list[Run]:
    from unskew.testing import local_session
    from unskew_lab.apps.running import Runner

    with TemporaryDirectory() as scratch:
        with waiting("Starting Spark"):
            slots = min(workers, MOST_SLOTS) if app.sleeps or cost else "*"
            spark = local_session(slots, partitions=workers)
            rows = _with_columns(app, renamed(_input(app, spark, path, scratch), names))
        with spark_bar("Reading, and the reference", spark):
            runner = Runner(app, rows, workers, batches, Path(scratch), cost, period)
        if len(schemes) == 1:
            with spark_bar(schemes[0].name, spark):
                return [runner.run(schemes[0])]
        return _best_of_two(runner, spark, schemes)


def _best_of_two(runner: Runner, spark: SparkSession, schemes: Sequence[Asked]) -> list[Run]:
    """Run all schemes, then all in reverse order: the first ones find Spark cold."""
    runs: dict[str, list[Run]] = {asked.name: [] for asked in schemes}
    for number, asked in enumerate([*schemes, *reversed(schemes)], 1):
        with spark_bar(f"{asked.name} ({number} of {2 * len(schemes)})", spark):
            runs[asked.name].append(runner.run(asked))
    with spark_bar("The reference once more", spark):
        runner.time_reference_again()
    chosen = (min(each, key=_wrong_or_quickest) for each in runs.values())
    return [replace(run, reference_seconds=runner.reference_seconds) for run in chosen]


def _wrong_or_quickest(run: Run) -> tuple[bool, float]:
    return run.matches_reference, run.seconds


def _input(app: App, spark: SparkSession, path: Path | None, scratch: str) -> DataFrame:
    if path is None:
        # A file, as yours would be: Spark computes a query of a local table while it plans.
        file = f"{scratch}/generated.parquet"
        app.generate(spark).write.parquet(file)
        return spark.read.parquet(file)
    return read_table(spark, path, lines=True) if app.read is None else app.read(spark, path)


def _with_columns(app: App, rows: DataFrame) -> DataFrame:
    for wanted in app.columns:
        if wanted not in rows.columns:
            raise InputError(
                f"{app.name} needs a column {wanted!r}; the input has {', '.join(rows.columns)}. "
                f"Name it: --column {wanted}=COLUMN"
            )
    return rows
