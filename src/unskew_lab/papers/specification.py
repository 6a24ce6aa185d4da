"""The parts of a reproduced paper: figures, the cells they are measured in, and claims.

A figure is measured over several *draws*: other seeds of the streams and other hash functions.

A *cell* is one small frozen description of a measurement; its printed form names its result on
disk, so a stopped run resumes where it was and figures that share a cell measure it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from unskew.errors import UnknownNameError
from unskew_lab.papers.plot import Plot

Value = str | int | float | bool
Row = Mapping[str, Value]
"""One line of a figure's CSV."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The user's settings: full or quick size, a folder of real key streams, a seed.

    `draw` is the number of the hash function; each draw has a seed of its own, too. With `kafka`,
    a folder with the jars of a broker and of Spark's connector, streams on a cluster come from it.
    """

    quick: bool = False
    data: Path | None = None
    seed: int = 42
    draw: int = 0
    kafka: Path | None = None

    def drawn(self, draw: int) -> Setting:
        """The same with another seed and another hash function."""
        return replace(self, seed=self.seed + draw, draw=draw)

    def streams(self) -> list[Path]:
        """The files of the real key streams, by name."""
        return sorted(self.data.glob("*.parquet")) if self.data else []


class Cell(Protocol):
    """A frozen dataclass that can be measured; equal cells give equal rows."""

    def measure(self) -> Sequence[Row]:
        """The rows of this cell."""
        ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """A claim tried on a real stream: it stands beside the verdict and does not decide it."""

    stream: str
    ours: str
    holds: bool


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
    value: float | None = None
    """The number that decides, if there is one; of several, the one furthest on the wrong side."""
    added: bool = False
    """Whether we say so, and not the paper."""
    always: bool = False
    """Whether a single draw that contradicts it is enough: theorems and bounds."""
    draws: int = 1
    held: int | None = None
    """In how many of the draws it holds."""
    least: float | None = None
    most: float | None = None
    """The range of `value` over the draws."""
    evidence: tuple[Evidence, ...] = ()


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
    draws: int = 1
    """Over how many draws it is measured; one where nothing is drawn, or only time is taken."""
    real: Callable[[Setting], Mapping[str, Sequence[Cell]]] | None = None
    """The cells that try the claims on real streams, by the name of the stream."""


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
