"""The rows of the benchmark of maps by cost, and list scheduling of what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapreplace

import numpy as np
from numpy.typing import NDArray

Costs = NDArray[np.float64]

ROWS = 60
"""For each slot, where single rows are heavy."""


@dataclass(frozen=True)
class Case:
    """Rows with costs, and how much faster than the best plain way they should run."""

    name: str
    draw: Callable[[int, float], Costs]
    """The costs on so many slots with so many seconds of work each."""
    gain: float | None = None
    """At 16 slots or more; None where nothing is to be gained."""
    off: bool = False
    """Whether it is run with wrong estimates, too, and every plain way once."""


def pareto(heaviest: float) -> Callable[[int, float], Costs]:
    """Pareto 1.1; the heaviest row is a part of a slot's work."""

    def draw(slots: int, seconds: float) -> Costs:
        costs = np.random.default_rng(7).pareto(1.1, ROWS * slots) + 1
        costs = np.sort(costs)[::-1]
        top = heaviest * seconds
        rest = (slots * seconds - top) / costs[1:].sum() * costs[1:]
        return np.append(top, np.minimum(rest, top))

    return draw


def lognormal(slots: int, seconds: float) -> Costs:
    """Log-normal with a sigma of 2.5; no row takes more than a slot's work."""
    costs = np.random.default_rng(7).lognormal(0.0, 2.5, ROWS * slots)
    scaled: Costs = np.minimum(costs * (slots * seconds / costs.sum()), seconds)
    return scaled


def one_in_hundred(slots: int, seconds: float) -> Costs:
    """1 % of the rows cost 500 times as much as the others."""
    costs = np.where(np.arange(4 * ROWS * slots) % 100 == 0, 500.0, 1.0)
    scaled: Costs = costs * (slots * seconds / costs.sum())
    return scaled


def classes(slots: int, seconds: float) -> Costs:
    """25, 5 or 1 ms: a tenth, three tenths and the rest."""
    cost = np.repeat([0.025, 0.005, 0.001], [1, 3, 6])
    return np.resize(cost, int(slots * seconds / cost.mean()))


def equal(slots: int, seconds: float) -> Costs:
    """All rows alike."""
    return np.full(ROWS * slots, seconds / ROWS)


CASES = (
    Case("pareto, heaviest row 1.0 of a slot", pareto(1.0), 1.3, off=True),
    Case("pareto, heaviest row 0.5 of a slot", pareto(0.5), 1.0),
    Case("log-normal, sigma 2.5", lognormal, 1.0),
    Case("1 % of rows cost 500 x", one_in_hundred, 1.0),
    Case("25, 5 or 1 ms", classes),
    Case("equal costs", equal),
)


def list_scheduled(costs: Costs, slots: int) -> float:
    """The end of the last row, each on the first free slot, the costliest first.

    >>> list_scheduled(np.array([1.0, 3.0, 2.0, 2.0]), slots=2)
    4.0
    """
    return in_order(np.sort(costs)[::-1], slots)


def in_order(loads: Costs, slots: int) -> float:
    """The end of the last task, each on the first slot that is free, in this order.

    >>> in_order(np.array([1.0, 2.0, 2.0, 3.0]), slots=2)
    5.0
    """
    free = [0.0] * slots
    for load in loads.tolist():
        heapreplace(free, free[0] + load)
    return max(free)
