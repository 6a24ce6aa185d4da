"""Claims as a table: what the paper says, what we measured, the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from unskew_lab.papers.document import spread_of_draws
from unskew_lab.papers.running import FigureResult


def tables(title: str, results: Sequence[FigureResult]) -> list[Table]:
    """The paper's claims, a line each, and those that we add; a reason is told once."""
    theirs = _table(title, results, added=False)
    ours = _table("What we add", results, added=True)
    return [grid for grid in (theirs, ours) if grid.row_count]


def _table(title: str, results: Sequence[FigureResult], added: bool) -> Table:
    grid = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("figure", "claim", "paper", "ours", "verdict"):
        grid.add_column(heading, overflow="fold")
    told: set[str] = set()
    for row in (row for result in results for row in result.as_rows() if row["added"] == added):
        verdict = "[green]holds[/]" if row["holds"] else "[red]does not hold[/]"
        why = "" if row["why"] in told else str(row["why"])
        told.add(why)
        about = f"{verdict}{spread_of_draws(row)}"
        words = (str(row[name]) for name in ("figure", "claim", "paper", "ours"))
        grid.add_row(*words, f"{about}\n{why}" if why else about)
    return grid


def summary(results: Sequence[FigureResult]) -> str:
    """How many of the paper's claims hold, and of those that we add."""
    claims = [claim for result in results for claim in result.claims]
    theirs, ours = ([c for c in claims if c.added == added] for added in (False, True))
    held = f"{sum(c.holds for c in theirs)} of the paper's {len(theirs)} claims hold"
    return f"{held}, {sum(c.holds for c in ours)} of our {len(ours)}" if ours else held
