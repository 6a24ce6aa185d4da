"""Ways to run a job, taken in turn; those that cannot win are not taken again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from unskew.errors import NeedError, UnknownNameError

ROUNDS = 3
HOPELESS = 2.0
"""A way that took so many times the best so far is not taken again. In three jobs no first take was
more than 1.7 times the second."""
CONTENDER = 1.25
"""Ways within this of the best are taken a third time."""
ALLOWANCE = 30.0
"""Seconds after which a job gets no third round."""


@dataclass(frozen=True)
class Way:
    """A way to run a job: a function that runs it all and returns its rows in a fixed order."""

    name: str
    run: Callable[[], object]
    judged: bool = False
    """Whether it is what the benchmark judges: it is taken in every round."""


class NotOfferedError(Exception):
    """Raised by a way that this version of the library does not have."""


@dataclass
class Race:
    """The seconds of every take of each way, and why others were left out."""

    takes: dict[str, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> dict[str, float]:
        """The best take of each way."""
        return {name: min(takes) for name, takes in self.takes.items()}

    def within(self, factor: float, name: str) -> bool:
        """Whether the way's best take is at most so many times the best of all."""
        return self.seconds[name] <= factor * min(self.seconds.values())


def race(ways: Sequence[Way], clock: Callable[[], float] = time.perf_counter) -> Race:
    """Take all ways in turn; the first is the one whose rows all others must give."""
    found = Race()
    started = clock()
    reference: object = None
    for number in range(ROUNDS):
        for way in ways:
            late = clock() - started > ALLOWANCE
            if number and not _again(found, way, number, late):
                continue
            begun = clock()
            try:
                answer = way.run()
            except (NotOfferedError, NeedError, UnknownNameError) as reason:
                found.left_out[way.name] = str(reason)
                continue
            found.takes.setdefault(way.name, []).append(clock() - begun)
            reference = answer if reference is None else reference
            if answer != reference:
                raise AssertionError(f"{way.name} gives other rows than {ways[0].name}")
    return found


def _again(found: Race, way: Way, number: int, late: bool) -> bool:
    if way.name in found.left_out:
        return False
    if number == 1:
        return way.judged or found.within(HOPELESS, way.name)
    return not late and (way.judged or found.within(CONTENDER, way.name))
