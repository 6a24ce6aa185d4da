"""Figure 1: the paper's worked example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from unskew.rebalancing.resources import amount
from unskew_lab.papers.reading import where
from unskew_lab.papers.specification import Claim, Figure, Row

BEFORE = {
    "network": (0, 0, 0, 0, 1, 1, 1, 1),
    "processing": (0, 0, 0, 1, 1, 1, 1, 1),
    "both": (0, 0, 0, 1, 1, 1, 1, 1),
}
"""The paper's owners of its eight items on two workers, by what was balanced."""


@dataclass(frozen=True, slots=True)
class ToyExample:
    """Figure 1: eight items that go from two workers to three, over all ways to place them."""

    def measure(self) -> Sequence[Row]:
        """Per way of balancing the most level placement; of several the one that moves least.

        What is balanced for both is level by the product of the two.
        """
        frequency = np.array([5.0, 3, 2, 1, 4, 3, 3, 1])  # X Z V R U Y W L
        placed = np.array(list(product(range(3), repeat=frequency.size)))
        level = {
            "network": _max_over_min(placed, amount("linear", frequency)),
            "processing": _max_over_min(placed, amount("quadratic", frequency)),
        }
        level["both"] = level["network"] * level["processing"]
        rows: list[Row] = []
        for name, before in BEFORE.items():
            moved = (frequency * (placed != np.array(before))).sum(axis=1)
            best = np.lexsort((moved, level[name].round(9)))[0]
            rows.append(
                {
                    "balanced for": name,
                    "network": float(level["network"][best]),
                    "processing": float(level["processing"][best]),
                    "migration": float(moved[best]),
                }
            )
        return rows


def _max_over_min(placed: NDArray[np.int64], amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    loads = np.stack([(amounts * (placed == worker)).sum(axis=1) for worker in range(3)])
    lowest = loads.min(axis=0)
    found: NDArray[np.float64] = np.full(lowest.size, np.inf)
    np.divide(loads.max(axis=0), lowest, out=found, where=lowest > 0)
    return found


def _claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, network, processing, migration in (
        ("network", 1.14, 2.26, 7),
        ("processing", 2.0, 1.04, 10),
        ("both", 1.14, 1.23, 10),
    ):
        (row,) = where(rows, **{"balanced for": name})
        found = (float(row["network"]), float(row["processing"]), float(row["migration"]))
        exact = abs(found[0] - network) < 0.01 and abs(found[1] - processing) < 0.01
        claims.append(
            Claim(
                f"three workers, balanced for {name}: best network, processing, and migration",
                f"{network}, {processing}, {migration}",
                f"{found[0]:.2f}, {found[1]:.2f}, {found[2]:g}",
                exact and found[2] <= migration,
                "the figure prints a load of 24 where 4² + 3² = 25",
                value=found[2],
            )
        )
    return claims


FIGURES = (Figure("1", "The toy example", lambda _: [ToyExample()], _claims),)
