"""The tables of `unskew run`: the result, and the schemes side by side.

It is drawn from the document of `--json`, so that a run that was kept can be shown again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unskew.cli.terminal import figure
from unskew.display import printable
from unskew_lab.apps import ALL

Run: TypeAlias = Mapping[str, Any]
"""What `unskew run --json` has of one run."""


def show(runs: Sequence[Run], console: Console) -> None:
    """Print the result of the app and a comparison of the schemes."""
    first = runs[0]
    name = first["app"]
    console.print(f"{name}: {ALL[name]}", highlight=False)
    console.print(_rows(first["result"]))
    console.print(_comparison(runs))
    for about in first["figures"]:
        console.print(_figures(runs, about), highlight=False)
    console.print(
        f"The reference: {first['reference_seconds']:.1f} s for {first['rows']:,} rows.",
        highlight=False,
    )


def _rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table()
    for name, value in rows[0].items() if rows else ():
        table.add_column(name, justify="right" if _is_number(value) else "left")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _is_number(value: Any) -> bool:
    """Whether it is one, or a decimal written out."""
    return isinstance(value, int | float) or str(value).replace(".", "", 1).isdecimal()


def _comparison(runs: Sequence[Run]) -> Table:
    first = runs[0]
    cut = f", {first['batches']} batches" if first["batches"] else ""
    table = Table(title=f"{first['rows']:,} rows on {first['workers']} workers{cut}")
    table.add_column("scheme")
    columns = [column for column in COLUMNS if first[column.name] is not None]
    for column in columns:
        table.add_column(column.heading, justify="right")
    table.add_column("result")
    for each in runs:
        result = "[green]right[/]" if each["matches_reference"] else "[red]WRONG[/]"
        table.add_row(each["scheme"], *(column.text(each) for column in columns), result)
    return table


class Column(NamedTuple):
    """A figure of a run; left out of the table where the first run has none."""

    heading: str
    form: str
    name: str
    unit: int = 1

    def text(self, run: Run) -> str:
        """The figure, or a dash."""
        value = run[self.name]
        return "–" if value is None else format(value / self.unit, self.form)


COLUMNS = (
    Column("seconds", ".1f", "seconds"),
    Column("max/mean", ".3f", "max_over_mean"),
    Column("replicas", ",.0f", "replicas"),
    Column("latency", ".2f", "latency"),
    Column("moved", ",.0f", "migrated_keys"),
    Column("kB", ",.0f", "migrated_bytes", unit=1_000),
)


def _figures(runs: Sequence[Run], name: str) -> str:
    values = [_cell(each["figures"][name]) for each in runs]
    if len(set(values)) == 1:
        return f"{name}: {values[0]}"
    named = (f"{each['scheme']} {value}" for value, each in zip(values, runs, strict=True))
    return f"{name}: {', '.join(named)}"


def _cell(value: Any) -> str:
    return escape(printable(value, 40)) if isinstance(value, str) else figure(value)
