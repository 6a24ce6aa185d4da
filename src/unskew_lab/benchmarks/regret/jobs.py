"""The jobs: what is done to how many rows of which keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

Kind = Literal["mergeable", "whole-key", "join", "aggregate"]
Skew = Literal["heavy", "mild", "none", "real"]

SLOTS = 8
COST = 0.0002
"""Seconds of a costly row."""
MUCH_ROWS, LITTLE_ROWS = 24_000, 600_000
FEW, MANY = 40, 2_000
EXPONENTS: dict[Skew, float] = {"heavy": 1.2, "mild": 0.7, "none": 0.0}


@dataclass(frozen=True)
class Job:
    """One job of the battery."""

    kind: Kind
    much: bool
    skew: Skew
    keys: int
    note: str = ""
    """What sets it apart from others of its kind, as part of its name."""
    seconds_per_row: float | None = None
    """Emulated; if not given, nothing or `COST` as there is little or much work."""
    seconds_per_pair: float = 0.0
    """Emulated for each pair of rows of a group: a cost that grows with its square."""
    exponent: float | None = None
    """Of Zipf's law, if it is not the one of the skew."""
    verb: Literal["applyInArrow", "applyInPandas"] = "applyInArrow"
    partitions: int = SLOTS
    upstream: float = 0.0
    """Seconds per row of a pandas UDF before the group."""
    broadcast: bool = False
    """Whether Spark may broadcast the other side of a join."""
    stream: Path | None = None
    """A file of real keys."""
    copies: int = 1
    """How often each of the generated rows is there."""
    times: int = 1
    """How many times the rows of the job as it is listed."""

    @property
    def name(self) -> str:
        """Kind, work, skew and keys, and what sets it apart."""
        if self.stream is not None:
            return ", ".join(filter(None, (self.kind, self.stream.stem, self._size)))
        work = "much work" if self.much else "little work"
        keys = "few keys" if self.keys <= FEW else "many keys"
        skew = "no" if self.skew == "none" else self.skew
        name = f"{self.kind}, {work}, {skew} skew, {keys}"
        return ", ".join(filter(None, (name, self.note, self._size)))

    @property
    def _size(self) -> str:
        return f"{self.times} x the rows" if self.times > 1 else ""

    @property
    def rows(self) -> int:
        """How many rows it has, or takes from its stream."""
        return (MUCH_ROWS if self.much else LITTLE_ROWS) * self.copies * self.times

    def scaled(self, times: int) -> Job:
        """So many times its rows, and its work."""
        pairs = self.seconds_per_pair / times
        return replace(self, times=times, seconds_per_pair=pairs)

    @property
    def cost(self) -> float:
        """Emulated seconds of a row."""
        if self.seconds_per_row is not None:
            return self.seconds_per_row
        return COST if self.much else 0.0

    @property
    def zipf(self) -> float:
        """The exponent of its keys."""
        return EXPONENTS[self.skew] if self.exponent is None else self.exponent


JOBS: tuple[Job, ...] = (
    Job("mergeable", True, "heavy", MANY),
    Job("mergeable", True, "heavy", FEW, "pandas", verb="applyInPandas"),
    Job("mergeable", True, "heavy", MANY, "2 input partitions", partitions=2),
    Job("mergeable", True, "heavy", MANY, "UDF upstream", upstream=COST / 4),
    Job("mergeable", True, "mild", MANY),
    Job("mergeable", True, "none", FEW),
    Job("mergeable", False, "heavy", MANY),
    Job("mergeable", False, "none", FEW),
    Job("whole-key", True, "heavy", MANY),
    Job("whole-key", True, "mild", FEW),
    Job("whole-key", True, "none", MANY, "pandas", verb="applyInPandas"),
    Job(
        *("whole-key", True, "mild", MANY, "n²"),
        seconds_per_row=0.0,
        seconds_per_pair=8e-6,
        exponent=0.5,
    ),
    Job("whole-key", False, "heavy", MANY),
    Job("join", True, "heavy", MANY),
    Job("join", True, "mild", FEW),
    Job("join", False, "heavy", MANY),
    Job("join", False, "none", FEW, "broadcast", broadcast=True),
    Job("aggregate", True, "heavy", MANY, "in Python"),
    Job("aggregate", False, "heavy", MANY, "count and max", copies=10),
    Job("aggregate", False, "none", FEW, "count and max", copies=10),
)


def stream_jobs(folder: Path) -> Sequence[Job]:
    """A mergeable and a whole-key function on the first rows of every file."""
    kinds: tuple[Kind, ...] = ("mergeable", "whole-key")
    files = sorted(folder.glob("*.parquet"))
    return [Job(kind, True, "real", 0, stream=file) for file in files for kind in kinds]
