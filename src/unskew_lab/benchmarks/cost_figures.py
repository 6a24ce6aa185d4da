"""The figures of the benchmark of maps by cost, from the seconds of its runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from unskew_lab.benchmarks.cost_cases import Case, Costs, list_scheduled
from unskew_lab.benchmarks.measuring import Measurement

OURS, OFF, REMEMBERED = "by cost", "by cost, off by half", "by cost, remembered"

Runs = dict[str, list[float]]


@dataclass
class CostFigures:
    """What was measured of one case on some slots; the key is the name of a way."""

    case: Case
    slots: int
    seconds: float
    costs: Costs
    times: Runs = field(default_factory=dict)
    """Deal by deal."""
    expected: Runs = field(default_factory=dict)
    """By list scheduling of a plain way's tasks."""
    tasks: dict[str, int] = field(default_factory=dict)
    empty: dict[int, float] = field(default_factory=dict)
    """The seconds of an empty job with so many tasks."""

    @cached_property
    def oracle(self) -> float:
        """When the last row ends by list scheduling of the true costs."""
        return list_scheduled(self.costs, self.slots)

    def likeliest(self, count: int) -> list[str]:
        """So many plain ways, those that should end first in the mean of all deals."""
        return sorted(self.expected, key=lambda name: np.mean(self.expected[name]))[:count]

    def measurements(self) -> Iterator[Measurement]:
        """Every way beside the bounds, and ours beside the best plain way.

        Of whole deals only, or of the ways that were run if the first one was cut short.
        """
        ours = [name for name in (OURS, REMEMBERED, OFF) if name in self.times]
        deals = min((len(self.times[name]) for name in ours), default=0) or 1
        job = f"{self.case.name}, {self.slots} slots, {self.seconds:g} s"
        what = f"{job}, {deals} deals" if deals > 1 else f"{job}, one deal"
        for name, each in self.times.items():
            which = what if len(each) >= deals else f"{job}, one deal"
            yield from self._beside_bounds(which, name, each[:deals])
        for name, each in self.expected.items():
            if len(self.times.get(name, ())) < deals:
                seconds = self._mean(each, deals)
                shown = f"{what}: {name}, by list scheduling"
                yield Measurement(shown, seconds, seconds / self.oracle, "the oracle", None)
        best = self._best_plain(deals)
        for name in ours if best else []:
            seconds, plain = (self._mean(self.times[each], deals) for each in (name, best))
            target = self._target(name, plain)
            against = f"the best plain way, {best}"
            yield Measurement(f"{what}: {name}", seconds, seconds / plain, against, target)

    def _beside_bounds(self, what: str, name: str, times: list[float]) -> Iterator[Measurement]:
        seconds, tasks = float(np.mean(times)), self.tasks[name]
        yield Measurement(f"{what}: {name}", seconds, seconds / self.oracle, "the oracle", None)
        bound = self.oracle + self.empty[tasks]
        target = 1.15 if self.case.gain and name not in self.expected else None
        against = f"the oracle and an empty job of {tasks} tasks"
        yield Measurement(f"{what}: {name}", seconds, seconds / bound, against, target)
        if name in self.expected:
            model = self._mean(self.expected[name], len(times))
            against = "list scheduling of its tasks"
            yield Measurement(f"{what}: {name}", seconds, seconds / model, against, None)

    def _best_plain(self, deals: int) -> str:
        """Of the ways that were run in all of so many deals."""
        plain = [name for name in self.expected if len(self.times.get(name, ())) >= deals]
        return min(plain, key=lambda name: self._mean(self.times[name], deals), default="")

    def _mean(self, seconds: list[float], deals: int) -> float:
        return float(np.mean(seconds[:deals]))

    def _target(self, name: str, plain: float) -> float:
        """The ratio to the best plain way that is wanted, but never below what is possible."""
        if self.case.gain is None:
            return 1.03
        wanted = self.case.gain if self.slots >= 16 else 1.0
        if name == OFF or self.seconds < 30:
            wanted = min(wanted, 1.2)
        possible = (self.oracle + min(self.empty.values())) / plain
        return max(1 / wanted, possible)
