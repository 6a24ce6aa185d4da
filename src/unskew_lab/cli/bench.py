"""`unskew bench`: speed, as ratios within one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from unskew.cli.completion import one_of
from unskew.cli.options import Json
from unskew.cli.outputs import check_extra
from unskew.cli.terminal import console, errors, print_json, waiting
from unskew.errors import InputError, UnknownNameError
from unskew_lab.benchmarks import ALL, WITHOUT_SPARK, Asked, Measurement
from unskew_lab.benchmarks.regret import JobMeasurement
from unskew_lab.cli.regret_table import regret_table, verdict

Name = Annotated[
    str | None,
    typer.Argument(help=f"One of {', '.join(ALL)}; all if not given.", autocompletion=one_of(ALL)),
]
Data = Annotated[
    Path | None,
    typer.Option(help="A folder of Parquet streams with a column key, for spark and regret."),
]
Jobs = Annotated[
    list[str] | None,
    typer.Option(
        help="Only jobs of regret and costs, or parts of streaming, whose name holds this text; "
        "may be repeated."
    ),
]
Seconds = Annotated[float, typer.Option(min=0.1, help="Work of each slot, for costs.")]
Scale = Annotated[
    int, typer.Option(min=1, help="Times the rows that each job of regret has otherwise.")
]
Deals = Annotated[int, typer.Option(min=1, help="Random deals of the rows to files, for costs.")]


def bench(
    name: Name = None,
    data: Data = None,
    jobs: Jobs = None,
    seconds: Seconds = 30.0,
    deals: Deals = 5,
    scale: Scale = 1,
    as_json: Json = False,
) -> None:
    """Measure speed; every figure is a ratio to a baseline of the same run.

    Prints each figure as soon as it is measured, and a table of all at the end. With --json a run
    that is stopped, or fails, still prints what it has. Example:

      unskew bench routers
    """
    if name is not None and name not in ALL:
        raise UnknownNameError("benchmark", name, ALL)
    if data is not None and not list(data.glob("*.parquet")):
        raise InputError(f"no Parquet files in {data}; give a folder of streams, or remove --data")
    chosen = [name] if name else list(ALL)
    if not WITHOUT_SPARK.issuperset(chosen):
        check_extra("pyspark", "lab")
        from unskew.testing import stop_on_sigterm

        stop_on_sigterm()
    asked = Asked(data, tuple(jobs or ()), seconds, deals, scale)
    rows: list[Measurement] = []
    try:
        for each in chosen:
            rows.extend(_measured(each, asked))
    finally:
        # A run of half an hour that is cut short, or fails, keeps what it has measured.
        if as_json and rows:
            print_json([row.as_dict() for row in rows])
    if not as_json:
        _show(rows)


def _measured(name: str, asked: Asked) -> Iterator[Measurement]:
    """The figures of a benchmark, each printed as soon as it is measured."""
    with waiting(f"Measuring {name}") as say:
        for count, row in enumerate(ALL[name](asked), 1):
            errors.print(f"{row.name}: {row.seconds:.3f} s, {row.ratio:.2f} x {row.against}")
            say(f"Measuring {name}, {count} figures so far")
            yield row


def _show(rows: list[Measurement]) -> None:
    by_job = [row for row in rows if isinstance(row, JobMeasurement)]
    if by_job:
        console.print(regret_table(by_job))
    console.print(_table([row for row in rows if not isinstance(row, JobMeasurement)]))
    if by_job:
        console.print(verdict(by_job, rows))


def _table(rows: list[Measurement]) -> Table:
    table = Table("what", "seconds", "ratio", "against", "target", "met")
    for row in rows:
        target = "" if row.target is None else f"{row.target:.3g}"
        met = {None: "", True: "[green]yes[/]", False: "[red]no[/]"}[row.met]
        table.add_row(row.name, f"{row.seconds:.3f}", f"{row.ratio:.2f}", row.against, target, met)
    return table
