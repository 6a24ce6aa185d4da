"""Work that is slept inside of tasks, and a record of what was done when.

Tasks import this module, so that it brings no compiler and no Spark with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from unskew.testing.cluster.emulation import emulated_work

STEP = 0.02
"""Seconds of work that are slept at a time: a shorter sleep takes noticeably longer than asked."""

_owed: dict[str, tuple[float, int]] = {}
"""By log: seconds of work, and rows, that this process has not yet slept."""


def work_off(log: str, rows: int, cost: float) -> None:
    """Take as long as `rows` of `cost` seconds each; writes down when rows were done."""
    seconds, waiting = _owed.get(log, (0.0, 0))
    step = max(1, round(STEP / cost)) if cost else rows
    while rows > 0:
        part = min(rows, step)
        rows -= part
        seconds, waiting = seconds + cost * part, waiting + part
        if seconds >= STEP:
            emulated_work(seconds)
            _write(log, waiting)
            seconds, waiting = 0.0, 0
    _owed[log] = seconds, waiting


def _write(log: str, rows: int) -> None:
    with (Path(log) / f"{os.getpid()}.log").open("a") as file:
        file.write(f"{time.time():.3f} {rows}\n")


def done_in(log: str) -> list[tuple[float, int]]:
    """When so many rows were done, in all processes that share a log."""
    found = []
    for path in Path(log).glob("*.log"):
        for line in path.read_text().splitlines():
            at, rows = line.split()
            found.append((float(at), int(rows)))
    return sorted(found)


@dataclass(frozen=True)
class SlowCount:
    """A count whose rows take `cost` seconds each, at the speed of this machine."""

    cost: float
    columns: tuple[str, ...] = ("id",)

    def result_type(self, types: Sequence[pa.DataType]) -> pa.DataType:
        """A whole number."""
        return pa.int64()

    def zero(self) -> int:
        """No rows."""
        return 0

    def add(self, state: int, rows: pa.RecordBatch) -> int:
        """Some more rows."""
        self.work(rows.num_rows)
        return state + int(rows.num_rows)

    def work(self, rows: int) -> None:
        """What so many rows take."""
        emulated_work(self.cost * rows)

    def merge(self, state: int, other: int) -> int:
        """Rows of both."""
        return state + other

    def result(self, state: int) -> int:
        """The count."""
        return state


@dataclass(frozen=True)
class PacedCount(SlowCount):
    """The same, which writes down when rows were done."""

    log: str = ""

    def work(self, rows: int) -> None:
        """What so many rows take, at times that `done_in` tells."""
        work_off(self.log, rows, self.cost)
