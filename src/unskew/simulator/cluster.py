"""The machines: how many rows a second each worker serves, and when that changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.errors import ParameterError
from unskew.kernels.queueing import Floats

MEAN_CAPACITY = 25.0
"""Rows a second of a mean worker (paper 000: 25 * 60 a worker and slot of 60 s)."""

_FORMS = "equal, 3x5 (3 machines 5 times as fast), or a number per worker such as 1,1,5"


@dataclass(frozen=True, slots=True)
class Phase:
    """From message `after` on, worker w serves `capacities[w]` rows a second."""

    after: int
    capacities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """What every worker can serve, in one or more phases.

    >>> Cluster.parse("1x3; 1x1@500", workers=2).phases
    (Phase(after=0, capacities=(37.5, 12.5)), Phase(after=500, capacities=(25.0, 25.0)))
    """

    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        starts = [phase.after for phase in self.phases]
        if not starts or starts[0] != 0 or sorted(set(starts)) != starts:
            raise ParameterError(
                f"phases begin after messages {starts}; the first must begin at 0, each other later"
            )
        for phase in self.phases:
            if len(phase.capacities) != self.workers or not min(phase.capacities) > 0:
                raise ParameterError(
                    f"capacities={phase.capacities} must be {self.workers} numbers above 0, "
                    "one for each worker"
                )

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return len(self.phases[0].capacities)

    @property
    def total(self) -> float:
        """Rows a second that all workers serve together, at first."""
        return sum(self.phases[0].capacities)

    def speeds(self, phase: int) -> Floats:
        """The capacities of a phase as an array."""
        return np.array(self.phases[phase].capacities, dtype=np.float64)

    @classmethod
    def equal(cls, workers: int, mean: float = MEAN_CAPACITY) -> Cluster:
        """All workers alike."""
        return cls((Phase(0, (mean,) * workers),))

    @classmethod
    def parse(cls, text: str, workers: int, mean: float = MEAN_CAPACITY) -> Cluster:
        """Read `equal`, `3x5` or `1,1,5`; `3x5; 5x4@6000000` changes after that many messages.

        Capacities are relative: each phase is scaled to the same `mean` of all workers.
        """
        phases = []
        for part in text.split(";"):
            form, _, after = part.strip().partition("@")
            relative = _relative(form.strip(), workers)
            scale = mean * workers / sum(relative)
            start = int(_number(after)) if after else 0
            phases.append(Phase(start, tuple(scale * each for each in relative)))
        return cls(tuple(phases))


def _relative(form: str, workers: int) -> Sequence[float]:
    if form == "equal":
        return [1.0] * workers
    fast, cross, times = form.partition("x")
    if cross:
        count = int(_number(fast))
        if not 0 <= count <= workers:
            raise ParameterError(f"capacities {form!r}: {count} is not in 0..workers={workers}")
        form = ",".join([times] * count + ["1"] * (workers - count))
    numbers = [_number(each) for each in form.split(",")]
    if len(numbers) != workers or not min(numbers) > 0:
        raise ParameterError(f"capacities {form!r} are not for workers={workers}; give {_FORMS}")
    return numbers


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"capacities: {text!r} is not a number; give {_FORMS}")
    return number
