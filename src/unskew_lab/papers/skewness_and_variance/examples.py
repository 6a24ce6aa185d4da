"""The examples of figures 4 and 6, and theorems 1 and 2 on random instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.metrics import max_over_mean
from unskew.partitioners import RoutingTable
from unskew.rebalancing import (
    KeyStatistics,
    LeastLoadFitDecreasing,
    Level,
    MinTable,
    Mixed,
    Simple,
)
from unskew.rebalancing.discretisation import discretise
from unskew_lab.papers.reading import where
from unskew_lab.papers.specification import Cell, Claim, Figure, Row, Setting

UPPER = 2**63
"""With two workers the upper half of all hashes is at home on the second."""


@dataclass(frozen=True, slots=True)
class RunningExample:
    """Figure 4: six keys on two workers, which should be absolutely level."""

    def measure(self) -> Sequence[Row]:
        """One row per algorithm."""
        ids = [1, 2, 3, UPPER + 4, UPPER + 5, UPPER + 6]
        keys = KeyStatistics.of(ids, [7, 4, 2, 1, 5, 1])
        current = RoutingTable(
            2, np.array([3, UPPER + 5], dtype=np.uint64), np.array([1, 0], dtype=np.int32)
        )
        plans = {
            "LLFD": LeastLoadFitDecreasing(theta=0).rebalance(keys, current, 2),
            "MinTable": MinTable(theta=0).rebalance(keys, current, 2),
        }
        return [
            {
                "planner": name,
                "loads": " ".join(f"{each:g}" for each in plan.loads),
                "entries": int(plan.table.keys.size),
                "table": " ".join(
                    f"k{key % 8}→d{owner + 1}"
                    for key, owner in sorted(
                        (int(key) % 8, int(owner))
                        for key, owner in zip(plan.table.keys, plan.table.owners, strict=True)
                    )
                ),
            }
            for name, plan in plans.items()
        ]


def _fig4_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, entries, paper in (
        ("LLFD", 4, "loads 10 10, 4 entries"),
        ("MinTable", 2, "loads 10 10, 2 entries: k2→d2 k4→d1"),
    ):
        (row,) = where(rows, planner=name)
        claims.append(
            Claim(
                f"{name} on the running example",
                paper,
                f"loads {row['loads']}, {row['entries']} entries: {row['table']}",
                row["loads"] == "10 10" and row["entries"] == entries,
            )
        )
    return claims


@dataclass(frozen=True, slots=True)
class Rounded:
    """Figure 6: ten costs rounded by steps, and by HLHE."""

    def measure(self) -> Sequence[Row]:
        """One row per way of rounding."""
        costs = np.array([8.0, 6, 3, 2, 2, 1, 1, 1, 1, 1])
        steps = np.select([costs <= 3, costs <= 6], [2.0, 5.0], 8.0)
        return [
            {"function": "piecewise constant", "deviation": abs(float((costs - steps).sum()))},
            {
                "function": "HLHE, R=4",
                "deviation": abs(float((costs - discretise(costs, 4)[0]).sum())),
            },
        ]


def _fig6_claims(rows: Sequence[Row]) -> list[Claim]:
    found = [float(row["deviation"]) for row in rows]
    ours = f"{found[0]:g} and {found[1]:g}"
    why = "each value goes to the neighbour that leaves less error; ties go down"
    claim = "total deviation of the ten costs, piecewise constant and HLHE"
    return [Claim(claim, "3 and 0", ours, found == [3, 0], why)]


@dataclass(frozen=True, slots=True)
class Perfect:
    """Random instances that some assignment makes perfectly level."""

    instances: int
    seed: int

    def measure(self) -> Sequence[Row]:
        """One row: how far each algorithm is from level, at worst and against Simple."""
        rng = np.random.default_rng(self.seed)
        worst = dict.fromkeys(("simple", "llfd", "level"), 0.0)
        above = {"mixed": 0, "level": 0}
        for _ in range(self.instances):
            keys, workers = _perfect(rng)
            bound, table = (1 - 1 / workers) / 3, RoutingTable(workers)
            simple = Simple(theta=0).rebalance(keys, table, workers)
            fit = LeastLoadFitDecreasing(theta=bound).rebalance(keys, table, workers)
            level = Level(theta=0, table=None).rebalance(keys, table, workers)
            theta = max(0.0, max_over_mean(simple.loads) - 1)
            mixed = Mixed(theta=theta, table=None).rebalance(keys, table, workers)
            for name, plan in (("simple", simple), ("llfd", fit), ("level", level)):
                worst[name] = max(worst[name], (max_over_mean(plan.loads) - 1) / bound)
            for name, plan in (("mixed", mixed), ("level", level)):
                above[name] += int(plan.loads.max() > simple.loads.max() * (1 + 1e-9))
        return [
            {
                "instances": self.instances,
                **{f"{name}_of_bound": value for name, value in worst.items()},
                **{f"{name}_above_simple": value for name, value in above.items()},
            }
        ]


def _perfect(rng: np.random.Generator) -> tuple[KeyStatistics, int]:
    workers, mean = int(rng.integers(2, 7)), int(rng.integers(4, 61))
    costs: list[int] = []
    for _ in range(workers):
        cuts = np.unique(rng.integers(1, mean, rng.integers(1, 4)))
        costs += np.diff([0, *cuts, mean]).tolist()
    return KeyStatistics.of(rng.integers(0, 2**64, len(costs), dtype=np.uint64), costs), workers


def _theorem_claims(rows: Sequence[Row]) -> list[Claim]:
    (row,) = rows
    instances = int(row["instances"])
    mixed, level = int(row["mixed_above_simple"]), int(row["level_above_simple"])
    return [
        Claim(
            "Theorem 1: with a perfect assignment, and no key as heavy as the mean, LLFD's θ is at "
            "most ⅓(1 − 1/N)",
            "≤ 1 of the bound",
            f"≤ {row['llfd_of_bound']:.3f} of it on {instances:,} random instances (Simple: "
            f"{row['simple_of_bound']:.3f}, Level at θ=0: {row['level_of_bound']:.3f})",
            float(row["llfd_of_bound"]) <= 1 + 1e-9,
        ),
        Claim(
            "Theorem 2: Mixed is no worse than Simple",
            "never worse",
            f"worse on {mixed:,} of {instances:,} instances; Level on {level:,}",
            mixed == 0,
            "the proof forgets the keys that stay put: costs 1 2 2 2 3 | 2 | 3 6 on three workers "
            "end at 7 7 7 with Simple and at 6 7 8 with Mixed. Level tries Simple's start too",
        ),
    ]


def _theorem_cells(setting: Setting) -> list[Cell]:
    return [Perfect(2_000 if setting.quick else 20_000, setting.seed)]


FIGURES = (
    Figure(
        "4", "LLFD and MinTable on the running example", lambda _: [RunningExample()], _fig4_claims
    ),
    Figure("6", "Discretisation", lambda _: [Rounded()], _fig6_claims),
    Figure("theorems", "Theorems 1 and 2", _theorem_cells, _theorem_claims),
)
