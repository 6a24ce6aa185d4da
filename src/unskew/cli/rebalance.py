"""`unskew rebalance`: a new routing table from key statistics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from unskew.cli.completion import one_of
from unskew.cli.options import Json
from unskew.cli.outputs import check_out_file
from unskew.cli.settings import parse_settings
from unskew.cli.terminal import console, print_json, waiting
from unskew.display import printable
from unskew.errors import InputError, ParameterError
from unskew.hashing import hash_keys
from unskew.partitioners import ConsistentRing, KeyGrouping, RoutingTable
from unskew.partitioners.contract import Partitioner, check_workers
from unskew.partitioners.serialization import to_json
from unskew.rebalancing import ALL, KeyStatistics
from unskew.rebalancing.current_table import table_of
from unskew.rebalancing.settings import build
from unskew.workloads.files import read_table

EXAMPLES = """
Examples:

  unskew rebalance keys.parquet --algorithm level --workers 15

  unskew rebalance keys.csv --algorithm mixed --workers 15 --set theta=0.02 --set r=3 --json
"""

InputFile = Annotated[
    Path,
    typer.Argument(metavar="INPUT", help="A Parquet or CSV file: key, cost[, memory][, worker]."),
]
Algorithm = Annotated[
    str, typer.Option(help=f"One of {', '.join(ALL)}.", autocompletion=one_of(ALL))
]
Workers = Annotated[int, typer.Option(help="Number of workers after the change.")]
Before = Annotated[
    int | None, typer.Option(help="Number of workers before the change; the same if not given.")
]
Base = Annotated[str, typer.Option(help="Where keys without an entry go: kg (by hash) or ring.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting of the algorithm, e.g. theta=0.02."
    ),
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the new table here, as JSON.")]


def rebalance(
    input_file: InputFile,
    algorithm: Algorithm,
    workers: Workers,
    before: Before = None,
    base: Base = "kg",
    settings: Settings = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Plan a routing table for whole keys: balance, table size and migration."""
    planner = build(algorithm, parse_settings(settings or []))
    check_workers(workers)
    if before is not None:
        check_workers(before)
    check_out_file(out, "--out")
    with waiting(f"Reading {printable(input_file.name)}") as say:
        table = read_table(input_file)
        keys = KeyStatistics.from_arrow(table)
        say(f"Planning {table.num_rows:,} keys on {workers} workers")
        plan = planner.rebalance(keys, _current(table, before or workers, base), workers)
    if out is not None:
        out.write_text(json.dumps(json.loads(to_json(plan.table)), indent=2) + "\n")
    if as_json:
        print_json(plan.to_json())
    else:
        console.print(plan.explain(), highlight=False, soft_wrap=True)


def _current(table: pa.Table, workers: int, base: str) -> RoutingTable:
    over = _base(base, workers)
    if "worker" not in table.column_names:
        return RoutingTable(workers, base=over)
    column = table["worker"]
    if column.null_count or not pa.types.is_integer(column.type):
        raise InputError(f"worker is {column.type}; it must be an integer in every row")
    return table_of(hash_keys(table["key"]), column.to_numpy().astype(np.int64), over)


def _base(name: str, workers: int) -> Partitioner:
    if name not in ("kg", "ring"):
        raise ParameterError(f"base={name!r} is not kg or ring")
    return KeyGrouping(workers) if name == "kg" else ConsistentRing(workers)


rebalance.__doc__ = f"{rebalance.__doc__}\n{EXAMPLES}"
