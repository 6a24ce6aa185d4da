"""`evenkeel run`: one of the papers' applications on an embedded Spark, on your data or its own."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from evenkeel.apps import ALL, load
from evenkeel.cli.outputs import check_extra
from evenkeel.cli.settings import parse_settings
from evenkeel.cli.tables import check_file, read_table, renamed
from evenkeel.cli.terminal import Json, console, errors, print_json
from evenkeel.errors import InputError, ParameterError, UnknownNameError
from evenkeel.partitioners.contract import check_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkeel.apps.contract import App
    from evenkeel.apps.running import Run

Name = Annotated[str, typer.Argument(metavar="APP", help=f"One of {', '.join(ALL)}.")]
InputPath = Annotated[
    Path | None,
    typer.Option("--input", help="A Parquet, CSV, JSON or text file; generated if not given."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column", metavar="NAME=COLUMN", help="What a column that the app wants is called there."
    ),
]
Scheme = Annotated[
    str | None, typer.Option(help="How rows are spread: planned-split, pkg, kg, auto ...")
]
Workers = Annotated[int, typer.Option(help="How many workers to spread the rows over.")]
Compare = Annotated[bool, typer.Option("--compare", help="Run by several schemes, side by side.")]

SHOWN = 10
TRIED = 500


def run(
    name: Name,
    input_path: InputPath = None,
    column: Columns = None,
    scheme: Scheme = None,
    workers: Workers = 8,
    compare: Compare = False,
    as_json: Json = False,
) -> None:
    """Run an application of the papers on an embedded Spark and check its result.

    Examples:

      evenkeel run wordcount --input book.txt --scheme pkg

      evenkeel run in-degree --input edges.parquet --column target=key --compare
    """
    if name not in ALL:
        raise UnknownNameError("app", name, ALL)
    check_extra("pyspark", "spark")
    check_workers(workers)
    if compare and scheme is not None:
        raise ParameterError(f"--compare chooses the schemes; leave out --scheme {scheme}")
    names = parse_settings(column or [], "--column", "text=body")
    if input_path is not None:
        check_file(input_path, lines=True)
    app = load(name)
    for wanted in names:
        if wanted not in app.columns:
            raise UnknownNameError(f"column of {name}", wanted, app.columns)
    first = app.schemes[0] if scheme is None else scheme
    schemes = app.schemes if compare else (_legal(app, first),)
    logging.getLogger("evenkeel").setLevel(logging.ERROR)  # the tables say what the log would
    runs = _runs(app, input_path, names, schemes, workers)
    if as_json:
        print_json([each.as_dict() for each in runs])
    else:
        _show(app, runs)
    sys.stdout.flush()


def _legal(app: App, scheme: str) -> str:
    from evenkeel.spark.schemes import check_legal

    if scheme != "auto":
        check_legal(scheme, app.need)
    return scheme


def _runs(
    app: App, path: Path | None, names: Mapping[str, str], schemes: Sequence[str], workers: int
) -> list[Run]:
    from evenkeel.apps.running import Runner
    from evenkeel.spark.session import local_session

    with errors.status("Starting Spark ...") as status:
        spark = local_session(partitions=workers)
        rows = app.generate(spark) if path is None else read_table(spark, path, lines=True)
        rows = _with_columns(app, renamed(rows, names))
        if len(schemes) > 1:
            status.update("Starting Python workers ...")  # for all alike: a first run is not it
            trial = Runner(app, rows.limit(TRIED), workers)
            for scheme in schemes:
                trial.run(scheme)
        status.update("Reading, and computing the reference ...")
        runner = Runner(app, rows, workers)
        runs = []
        for number, scheme in enumerate(schemes, 1):
            status.update(f"{app.name} by {scheme} ({number} of {len(schemes)}) ...")
            runs.append(runner.run(scheme))
    return runs


def _with_columns(app: App, rows: DataFrame) -> DataFrame:
    for wanted in app.columns:
        if wanted not in rows.columns:
            raise InputError(
                f"{app.name} wants a column {wanted!r}; the input has {', '.join(rows.columns)}. "
                f"Name it: --column {wanted}=COLUMN"
            )
    return rows


def _show(app: App, runs: Sequence[Run]) -> None:
    found = runs[0].answer
    console.print(f"{app.name}: {ALL[app.name]}", highlight=False)
    console.print(_rows(found.rows[:SHOWN]))
    console.print(_comparison(runs))
    for name in found.figures:
        console.print(_figures(runs, name), highlight=False)
    first = runs[0]
    console.print(
        f"Plain Spark: {first.reference_seconds:.1f} s for {first.rows:,} rows.", highlight=False
    )


def _rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(*(rows[0] if rows else ()))
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _comparison(runs: Sequence[Run]) -> Table:
    table = Table(title=f"{runs[0].rows:,} rows on {runs[0].workers} workers")
    table.add_column("scheme")
    for heading in ("seconds", "max/mean", "replicas"):
        table.add_column(heading, justify="right")
    table.add_column("result")
    for each in runs:
        table.add_row(
            each.scheme,
            f"{each.seconds:.1f}",
            f"{each.max_over_mean:.3f}",
            f"{each.replicas:,}",
            "[green]right[/]" if each.matches_reference else "[red]WRONG[/]",
        )
    return table


def _figures(runs: Sequence[Run], name: str) -> str:
    values = [_cell(each.answer.figures[name]) for each in runs]
    if len(set(values)) == 1:
        return f"{name}: {values[0]}"
    named = (f"{value} by {each.scheme}" for value, each in zip(values, runs, strict=True))
    return f"{name}: {', '.join(named)}"


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    return (
        f"{value:,.4g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else f"{value}"
    )
