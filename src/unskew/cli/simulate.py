"""`unskew simulate`: balance, replicas and latency of a scheme on a stream."""

from __future__ import annotations

from typing import Annotated, cast

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
from unskew.cli.settings import (
    machines_from,
    on_machines,
    parse_settings,
    partitioner_for,
    signalling_from,
    stream_from,
)
from unskew.cli.terminal import console, figure, print_json, progress_bar, waiting
from unskew.errors import ParameterError
from unskew.partitioners import ALL
from unskew.simulator.counting import count
from unskew.simulator.sources import SourceBy
from unskew.simulator.what_if import what_if

EXAMPLES = """
Examples:

  unskew simulate --zipf 1.4 --keys 100000 --messages 1000000 --scheme pkg --workers 50

  unskew simulate --input clicks.parquet --key user_id --scheme cg --workers 64 --set virtual=100

  unskew simulate --zipf 1.0 --scheme cg --workers 10 --capacities 3x5 --rate 0.8

  unskew simulate --zipf 1.0 --scheme cg --workers 9 --rate 0.9 --signals by=queue
"""

Scheme = Annotated[
    str,
    typer.Option(help="kg, pkg, cg ...; a wrong name lists them all.", autocompletion=one_of(ALL)),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the scheme, or source-by=key."),
]
Aggregate = Annotated[
    float | None,
    typer.Option(help="With queues: seconds between flushes of partial states."),
]

Signals = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="With queues: when workers signal. slot=60, busy=0.85, idle=0.75, by=queue, "
        "queue-capacity=1024.",
    ),
]


def simulate(
    scheme: Scheme,
    workers: Workers,
    input_file: InputFile = None,
    key: Key = None,
    zipf: Zipf = None,
    lognormal: LogNormal = None,
    keys: Keys = 100_000,
    messages: Messages = 1_000_000,
    seed: Seed = 42,
    sources: NumberOfSources = 1,
    settings: Settings = None,
    capacities: Capacities = None,
    rate: Rate = None,
    service: ServiceTime = None,
    aggregate: Aggregate = None,
    signals: Signals = None,
    as_json: Json = False,
) -> None:
    """Route a stream by a scheme; report balance and replicas, and latency with queues."""
    wanted = parse_settings(settings or [])
    source_by = cast(SourceBy, wanted.pop("source_by", "turn"))
    stream = stream_from(input_file, key or [], zipf, lognormal, keys, messages, seed)
    machines = machines_from(workers, capacities, rate, service, seed)
    if aggregate is not None and not machines:
        raise ParameterError(
            "--aggregate requires the queueing simulation; add --rate or --capacities"
        )
    if machines and source_by != "turn":
        raise ParameterError(
            "source-by=key works without queues only; remove --capacities, --rate and --service"
        )
    signalling = signalling_from(signals or [], queues=machines is not None)
    with waiting("Preparing the stream"):
        partitioner = partitioner_for(scheme, workers, wanted, stream)
    if machines:
        partitioner = on_machines(partitioner, machines[0], wanted)
    with progress_bar("Routing", stream.messages, shown=not as_json) as advance:
        if machines:
            result = what_if(
                partitioner, stream, *machines, sources, aggregate, advance, signalling
            )
        else:
            result = count(partitioner, stream, sources, source_by, advance).as_dict()
    if as_json:
        print_json(result)
        return
    table = Table("measure", title=f"{partitioner.scheme} on {stream.messages:,} rows")
    table.add_column("value", justify="right")
    for name, value in result.items():
        table.add_row(name, figure(value))
    console.print(table)
    if partitioner.without_feedback and not machines:
        console.print(f"Without queues nobody signals: this is {partitioner.without_feedback}.")


simulate.__doc__ = f"{simulate.__doc__}\n{EXAMPLES}"
