"""The description of a plot: panels of lines, to be drawn as PNG or as an interactive page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

PALETTE = ("#4363d8", "#e6194b", "#3cb44b", "#f58231", "#911eb4", "#008080", "#9a6324", "#000075")
MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")

SCHEMES = {
    "KG": (0, "circle"),
    "PKG": (1, "square"),
    "PoTC": (2, "triangle-up"),
    "PoRC": (3, "diamond"),
    "CH": (4, "triangle-down"),
    "SG": (5, "cross"),
    "CG": (3, "star"),
}
"""Schemes keep their colour and marker in every picture."""


@dataclass(frozen=True, slots=True)
class Line:
    """One named curve; `points=False` leaves the markers out, as for a long timeline."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    points: bool = True
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes. On a logarithmic axis values below `floor` are drawn on the floor.

    With `from_zero` the y axis shows zero, so that heights compare.
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    floor: float = 0.0
    from_zero: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A whole figure: panels in rows of `columns`; with `share_y` a row has one scale."""

    title: str
    panels: Sequence[Panel]
    columns: int = 3
    note: str = ""
    share_y: bool = False

    @property
    def rows(self) -> int:
        """How many rows of panels there are."""
        return -(-len(self.panels) // self.columns)


def styles(plot: Plot) -> dict[str, tuple[str, str]]:
    """The colour and marker of every line name: known schemes keep theirs, others go in turn.

    >>> lines = [Line("KG", [1], [1]), Line("z=5", [1], [2])]
    >>> styles(Plot("", [Panel("", "", "", lines)]))
    {'KG': ('#4363d8', 'circle'), 'z=5': ('#e6194b', 'square')}
    """
    names = dict.fromkeys(line.name for panel in plot.panels for line in panel.lines)
    chosen = {
        name: (PALETTE[SCHEMES[name][0]], SCHEMES[name][1]) for name in names if name in SCHEMES
    }
    taken = {colour for colour, _ in chosen.values()}
    free = [i for i, colour in enumerate(PALETTE) if colour not in taken]
    unknown = (name for name in names if name not in SCHEMES)
    for turn, name in zip(cycle(free), unknown, strict=False):
        chosen[name] = (PALETTE[turn], MARKERS[turn])
    return {name: chosen[name] for name in names}


def drawable(line: Line, panel: Panel) -> list[float]:
    """The heights of a line as they can be drawn on the axes of its panel.

    >>> line = Line("SG", [1, 2], [0.0, 0.1])
    >>> drawable(line, Panel("", "", "", [line], log_y=True, floor=1e-9))
    [1e-09, 0.1]
    """
    return [max(y, panel.floor) for y in line.y] if panel.log_y else list(line.y)
