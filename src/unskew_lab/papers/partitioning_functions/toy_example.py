"""Figure 1: the paper's worked example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.metrics import max_over_min
from unskew.rebalancing.resources import amount
from unskew_lab.papers.reading import where
from unskew_lab.papers.specification import Claim, Figure, Row


@dataclass(frozen=True, slots=True)
class ToyExample:
    """Figure 1: eight items on two, then three workers, balanced for different resources."""

    def measure(self) -> Sequence[Row]:
        """One row per way of balancing."""
        frequency = np.array([5.0, 3, 2, 1, 4, 3, 3, 1])  # X Z V R U Y W L
        tables = {
            "network": ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 2, 2, 1, 1, 2, 2]),
            "processing": ([0, 0, 0, 1, 1, 1, 1, 1], [0, 2, 2, 2, 1, 1, 2, 2]),
            "both": ([0, 0, 0, 1, 1, 1, 1, 1], [0, 2, 2, 0, 1, 1, 2, 0]),
        }
        rows: list[Row] = []
        for name, (before, after) in tables.items():
            network = np.bincount(after, weights=amount("linear", frequency))
            processing = np.bincount(after, weights=amount("quadratic", frequency))
            rows.append(
                {
                    "balanced for": name,
                    "network": max_over_min(network),
                    "processing": max_over_min(processing),
                    "migration": float(frequency[np.array(before) != np.array(after)].sum()),
                }
            )
        return rows


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
                f"three workers, balanced for {name}: balance of network and processing, migration",
                f"{network}, {processing}, {migration}",
                f"{found[0]:.2f}, {found[1]:.2f}, {found[2]:g}",
                exact and found[2] == migration,
                "the figure prints a load of 24 where 4² + 3² = 25" if name == "network" else "",
            )
        )
    return claims


FIGURES = (Figure("1", "The toy example", lambda _: [ToyExample()], _claims),)
