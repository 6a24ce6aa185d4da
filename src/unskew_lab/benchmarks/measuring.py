"""One measured figure beside its baseline and its target."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Measurement:
    """A measured figure: `ratio` is to `against`, `target` is the highest allowed ratio."""

    name: str
    seconds: float
    ratio: float
    against: str
    target: float | None

    @property
    def met(self) -> bool | None:
        """Whether the ratio is within the target; None without a target."""
        return None if self.target is None else self.ratio <= self.target

    def as_dict(self) -> dict[str, object]:
        """The fields of `unskew bench --json`."""
        return {**asdict(self), "met": self.met}


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """The shortest of several runs in seconds: the one that other processes disturbed least."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
