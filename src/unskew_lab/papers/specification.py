"""The parts of a reproduced paper: figures, the cells they are measured in, and claims.

A *cell* is one small frozen description of a measurement; its printed form names its result on
disk, so a stopped run resumes where it was and figures that share a cell measure it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from unskew.errors import UnknownNameError
from unskew_lab.papers.plot import Plot

Value = str | int | float | bool
Row = Mapping[str, Value]
"""One line of a figure's CSV."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The user's settings: full or quick size, a folder of real key streams, a seed."""

    quick: bool = False
    data: Path | None = None
    seed: int = 42

    def streams(self) -> list[Path]:
        """The files of the real key streams, by name."""
        return sorted(self.data.glob("*.parquet")) if self.data else []


class Cell(Protocol):
    """A frozen dataclass that can be measured; equal cells give equal rows."""

    def measure(self) -> Sequence[Row]:
        """The rows of this cell."""
        ...


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, what we found, and whether they agree.

    `why` gives the likely reason when they do not, or the choice made where the paper is silent.
    """

    claim: str
    paper: str
    ours: str
    holds: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, table or section of a paper: its cells, its claims and its picture."""

    name: str
    title: str
    cells: Callable[[Setting], Sequence[Cell]]
    claims: Callable[[Sequence[Row]], Sequence[Claim]]
    plot: Callable[[Sequence[Row]], Plot] | None = None
    choices: str = ""
    """What we took where the paper is silent."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its name on the command line, its figures, its slips and what is left out."""

    name: str
    title: str
    figures: tuple[Figure, ...]
    slips: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Item of the paper -> why it is not reproduced here."""

    def pick(self, name: str | None) -> tuple[Figure, ...]:
        """The figure called `name`, or all of them."""
        if name is None:
            return self.figures
        found = tuple(figure for figure in self.figures if figure.name == name)
        if not found:
            raise UnknownNameError("figure", name, (figure.name for figure in self.figures))
        return found
