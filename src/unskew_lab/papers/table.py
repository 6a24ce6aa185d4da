"""Claims as a table: what the paper says, what we measured, the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from unskew_lab.papers.running import FigureResult


def table(title: str, results: Sequence[FigureResult]) -> Table:
    """One line per claim; what does not hold says why."""
    grid = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("figure", "claim", "paper", "ours", "verdict"):
        grid.add_column(heading, overflow="fold")
    for result in results:
        for claim in result.claims:
            verdict = "[green]holds[/]" if claim.holds else "[red]does not hold[/]"
            grid.add_row(
                result.figure.name,
                claim.claim,
                claim.paper,
                claim.ours,
                f"{verdict}\n{claim.why}" if claim.why else verdict,
            )
    return grid


def summary(results: Sequence[FigureResult]) -> str:
    """How many claims hold."""
    claims = [claim for result in results for claim in result.claims]
    return f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold"
