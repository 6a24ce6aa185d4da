"""What the figures share: when a number is the paper's, and how curves are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, where
from unskew_lab.papers.specification import Row

LAST = 10
NEAR = 1.25
"""A number of the paper is met if ours is within this factor of it."""


def near(ours: float, paper: float, factor: float = NEAR) -> bool:
    """Whether a number of ours is about the paper's."""
    return paper / factor <= ours <= paper * factor


def at_ten(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last step, at the default number of workers."""
    return where(rows, workers=LAST)


def curves(rows: Sequence[Row], title: str, x: str, label: str, log_x: bool = False) -> Plot:
    """Migration and imbalance over what the figure varies, a row of panels per resource."""
    panels = [
        Panel(f"{name}, {letters}", label, name, lines(part, x, column), log_x=log_x)
        for letters in distinct(rows, "resources")
        if (part := where(rows, resources=letters))
        for column, name in (
            ("migration", "relative migration"),
            ("imbalance", "relative imbalance"),
        )
    ]
    return Plot(f"Partitioning functions, {title}", panels, columns=2)
