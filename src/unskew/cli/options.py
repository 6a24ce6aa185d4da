"""Options that several commands share, annotated for Typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unskew.cli.completion import one_of

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Workers = Annotated[int, typer.Option(help="Number of workers.")]

# The stream of simulate and compare.
InputFile = Annotated[Path | None, typer.Option("--input", help="A Parquet or CSV file.")]
Key = Annotated[list[str] | None, typer.Option(help="Its key column; repeat for several.")]
Zipf = Annotated[float | None, typer.Option(help="Or generate keys: Zipf with this exponent,")]
LogNormal = Annotated[str | None, typer.Option(help="or log-normal MU,SIGMA.")]
Keys = Annotated[int, typer.Option(help="Number of keys of a Zipf stream.")]
Messages = Annotated[int, typer.Option(help="Length of a generated stream.")]
Seed = Annotated[int, typer.Option(help="Seed of the generated stream.")]
NumberOfSources = Annotated[
    int, typer.Option("--sources", help="Number of sources that route the stream.")
]

# The machines of simulate and compare.
Capacities = Annotated[
    str | None,
    typer.Option(
        help="Simulate queues. Relative speeds: equal, 3x5 (3 workers 5 times as fast), or a "
        "number per worker such as 1,1,5; '3x5; 5x4@6000000' changes after so many messages."
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(help="Simulate queues. Arrivals relative to the capacity of all workers: 0.8."),
]
ServiceTime = Annotated[
    str | None,
    typer.Option(
        "--service",
        help="Simulate queues. Work of a row: constant, per-key or per-row.",
        autocompletion=one_of(["constant", "per-key", "per-row"]),
    ),
]
