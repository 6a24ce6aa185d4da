"""`unskew compare`: every legal scheme on one stream, best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from unskew.cli.completion import one_of
from unskew.cli.options import (
    Capacities,
    InputFile,
    Json,
    Key,
    Keys,
    LogNormal,
    Messages,
    NumberOfSources,
    Rate,
    Seed,
    ServiceTime,
    Workers,
    Zipf,
)
from unskew.cli.outputs import check_extra, check_out_file
from unskew.cli.settings import machines_from, on_machines, partitioner_for, stream_from
from unskew.cli.terminal import console, figure, print_json, progress_bar, waiting
from unskew.errors import UnknownNameError
from unskew.partitioners import ALL, Need
from unskew.simulator.comparing import Comparison, Found, legal
from unskew.simulator.comparing import compare as rank
from unskew.simulator.counting import count
from unskew.simulator.what_if import what_if

NeedName = Annotated[
    str,
    typer.Option(
        help=f"What the work needs: {', '.join(need.value for need in Need)}.",
        autocompletion=one_of(need.value for need in Need),
    ),
]

Plot = Annotated[Path | None, typer.Option(help="Also draw the schemes into this PNG file.")]

UNPLANNED = ("routing-table",)
"""Schemes that do nothing without a table from elsewhere."""

HEADINGS = {
    "max_over_mean": "max/mean",
    "replication": "workers per key",
    "latency_p99": "p99, s",
    "latency_mean": "avg, s",
    "utilisation_spread": "spread",
}


def compare(
    workers: Workers,
    need: NeedName = Need.MERGEABLE.value,
    input_file: InputFile = None,
    key: Key = None,
    zipf: Zipf = None,
    lognormal: LogNormal = None,
    keys: Keys = 100_000,
    messages: Messages = 1_000_000,
    seed: Seed = 42,
    sources: NumberOfSources = 1,
    capacities: Capacities = None,
    rate: Rate = None,
    service: ServiceTime = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Simulate every scheme that is legal for a need on one stream and recommend one.

    Examples:

      unskew compare --zipf 1.2 --workers 50 --plot schemes.png

      unskew compare --input clicks.parquet --key user --workers 10 --capacities 3x5
    """
    wanted = _need(need)
    if plot is not None:
        check_extra("matplotlib", "plot")
        check_out_file(plot, "--plot", (".png",))
    stream = stream_from(input_file, key or [], zipf, lognormal, keys, messages, seed)
    machines = machines_from(workers, capacities, rate, service, seed)
    names = [name for name in ALL if name not in UNPLANNED]
    with waiting("Preparing the stream"):
        every = {name: partitioner_for(name, workers, {}, stream) for name in names}
        if machines:
            every = {name: on_machines(each, machines[0], ()) for name, each in every.items()}
        schemes = legal(every, wanted)
    found: list[Found] = []
    total = stream.messages * len(schemes)
    with progress_bar("Comparing", total, shown=not as_json) as advance:
        for partitioner in schemes.values():
            if machines:
                found.append(what_if(partitioner, stream, *machines, sources, progress=advance))
            else:
                found.append(count(partitioner, stream, sources, "turn", advance).as_dict())
    result = rank(found, timed=machines is not None)
    title = f"{stream.messages:,} rows, {workers} workers, {need}"
    if plot is not None:
        _draw(
            [{**row, "need": schemes[str(row["scheme"])].need} for row in result.rows], title, plot
        )
    if as_json:
        take = {"scheme": result.best, "why": result.advice}
        print_json({"need": need, "schemes": result.rows, "recommendation": take})
        return
    console.print(_table(result, title))
    console.print(result.advice)


def _draw(rows: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    from unskew.report.scheme_picture import draw_schemes

    draw_schemes(rows, title, path)


def _need(name: str) -> Need:
    known = {need.value: need for need in Need}
    if name not in known:
        raise UnknownNameError("need", name, known)
    return known[name]


def _table(result: Comparison, title: str) -> Table:
    columns = ["scheme", "max_over_mean", "replication", "replicas"]
    if result.measure != "max_over_mean":
        # Replicas say what the workers per key say, and the line has eighty characters.
        columns[1:] = [
            "latency_p99",
            "latency_mean",
            "utilisation_spread",
            "waiting",
            *columns[1:3],
        ]
    table = Table(title=title)
    table.add_column("scheme", no_wrap=True)
    for column in columns[1:]:
        heading = HEADINGS.get(column, column)
        heading = heading.removeprefix("workers ") if len(columns) > 4 else heading
        table.add_column(heading, justify="right", overflow="fold")
    for row in result.rows:
        cells = (row[column] for column in columns)
        table.add_row(*map(figure, cells))
    return table
