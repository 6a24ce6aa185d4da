"""`evenkeel demo`: every scheme on one skewed stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from evenkeel.cli.settings import partitioner_for
from evenkeel.cli.terminal import Json, console, print_json, progress_bar
from evenkeel.partitioners import ALL, Need
from evenkeel.simulator.counting import count
from evenkeel.workloads import ZipfStream

SCHEMES = [scheme for scheme in ALL if scheme != "routing-table"]
"""An empty routing table is plain hashing."""
WORKERS = 50
STREAM = ZipfStream(exponent=1.2, keys=100_000, messages=1_000_000)
TITLE = "One million clicks, Zipf 1.2 over 100,000 users, 50 workers"

Out = Annotated[Path, typer.Option(help="Folder for the picture.")]


def demo(out: Out = Path("demo-output"), as_json: Json = False) -> None:
    """Compare every routing scheme on a generated skewed stream: a table and a picture."""
    rows = _measure(shown=not as_json)
    if as_json:
        print_json([{**row, "need": row["need"].value} for row in rows])
        return
    console.print(_table(rows))
    best = min((row for row in rows if row["need"] is not Need.ANY_ROW), key=_cost)
    plain = next(row for row in rows if row["scheme"] == "kg")
    console.print(
        f"Hashing (kg) makes the busiest worker do [bold]{plain['max_over_mean']:.1f}[/] times the "
        f"mean; {best['scheme']} does the same work with [bold]{best['max_over_mean']:.3f}[/] and "
        f"{best['replication']:.2f} replicas a key."
    )
    _draw(rows, out)


def _measure(shown: bool) -> list[dict[str, Any]]:
    rows = []
    with progress_bar("Routing", STREAM.messages * len(SCHEMES), shown) as advance:
        for scheme in SCHEMES:
            partitioner = partitioner_for(scheme, WORKERS, {}, STREAM)
            result = count(partitioner, STREAM, progress=advance)
            rows.append({**result.as_dict(), "need": partitioner.need})
    return rows


def _cost(row: dict[str, Any]) -> tuple[float, float]:
    """Level first (to the percent), then few replicas."""
    return round(row["max_over_mean"], 2), row["replication"]


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title=TITLE)
    for name in ("scheme", "need"):
        table.add_column(name, no_wrap=True)
    for name in ("max/mean", "replicas/key", "M rows/s"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["scheme"],
            row["need"].value,
            f"{row['max_over_mean']:.3f}",
            f"{row['replication']:.2f}",
            f"{row['messages_per_second'] / 1e6:.0f}",
        )
    return table


def _draw(rows: list[dict[str, Any]], out: Path) -> None:
    try:
        from evenkeel.report.scheme_picture import draw_schemes

        out.mkdir(parents=True, exist_ok=True)
        draw_schemes(rows, TITLE, out / "schemes.png")
    except ImportError:
        console.print("For the picture: pip install 'evenkeel[plot]'")
    else:
        console.print(f"Picture: {out / 'schemes.png'}")
