"""What `evenkeel run` prints: the result, and the schemes side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.markup import escape
from rich.table import Table

from evenkeel.apps import ALL
from evenkeel.cli.terminal import console
from evenkeel.shown import shown

if TYPE_CHECKING:
    from evenkeel.apps.running import Run

SHOWN = 10


def show(name: str, runs: Sequence[Run]) -> None:
    """What the app found, and how the schemes compare."""
    found = runs[0].answer
    console.print(f"{name}: {ALL[name]}", highlight=False)
    console.print(_rows(found.rows[:SHOWN]))
    console.print(_comparison(runs))
    for figure in found.figures:
        console.print(_figures(runs, figure), highlight=False)
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
    first = runs[0]
    cut = f", {first.batches} batches" if first.batches else ""
    table = Table(title=f"{first.rows:,} rows on {first.workers} workers{cut}")
    table.add_column("scheme")
    columns = [figure for figure in COLUMNS if figure.of(first) is not None]
    for figure in columns:
        table.add_column(figure.heading, justify="right")
    table.add_column("result")
    for each in runs:
        result = "[green]right[/]" if each.matches_reference else "[red]WRONG[/]"
        table.add_row(each.scheme, *(figure.text(each) for figure in columns), result)
    return table


class Column(NamedTuple):
    """A figure of a run in the table; where the first run has none, there is no column."""

    heading: str
    form: str
    of: Callable[[Run], float | None]

    def text(self, run: Run) -> str:
        """The figure, or a dash."""
        value = self.of(run)
        return "–" if value is None else format(value, self.form)


COLUMNS = (
    Column("seconds", ".1f", lambda run: run.seconds),
    Column("max/mean", ".3f", lambda run: run.max_over_mean),
    Column("replicas", ",", lambda run: run.replicas),
    Column("latency", ".2f", lambda run: run.latency),
    Column("moved", ",", lambda run: run.migrated_keys),
    Column("bytes", ",", lambda run: run.migrated_bytes),
)


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
        else escape(shown(value, 40))
    )
