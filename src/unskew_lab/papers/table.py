"""Outcomes as a table for people: paper, ours, verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from unskew_lab.papers.running import Outcome


def table(title: str, outcomes: Sequence[Outcome]) -> Table:
    """One line per claim; what does not hold says why."""
    grid = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("figure", "claim", "paper", "ours", "verdict"):
        grid.add_column(heading, overflow="fold")
    for outcome in outcomes:
        for claim in outcome.claims:
            verdict = "[green]holds[/]" if claim.holds else "[red]does not hold[/]"
            grid.add_row(
                outcome.figure.name,
                claim.claim,
                claim.paper,
                claim.ours,
                f"{verdict}\n{claim.why}" if claim.why else verdict,
            )
    return grid


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many claims hold."""
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    return f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold"
