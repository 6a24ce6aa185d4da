"""The example of section II, and theorems 4.2 and 4.3, beside our measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from unskew.hashing import hash_ids
from unskew.kernels.cost_pair import Floats
from unskew.partitioners import FullKnowledge, ShuffleGrouping
from unskew.partitioners.full_knowledge import KeyCosts
from unskew.simulator.completion import CostlyRows, complete
from unskew.sketches.cost_pair import CostPair, CostShape
from unskew_lab.papers.reading import numbers
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

KEYS, LEVELS = 4_096, 64
COLUMNS = 55


@dataclass(frozen=True, slots=True)
class Example:
    """Rows a, b, a with costs of 10, 1 and 10 seconds, a second apart, on two workers."""

    def measure(self) -> Sequence[Row]:
        """The sum of completion times, dealt in turn and with the costs known."""
        keys = np.array([1, 2, 1], dtype=np.uint64)
        known = KeyCosts(keys[:2], np.array([10.0, 1.0]))
        rows = CostlyRows(keys, known.of(keys), np.arange(3.0))
        return [
            {
                "round_robin": float(complete(ShuffleGrouping(2), rows).times.sum()),
                "known": float(complete(FullKnowledge(2, known), rows).times.sum()),
            }
        ]


@dataclass(frozen=True, slots=True)
class Makespan:
    """Small random instances beside the best of all schedules; the last one is the worst case."""

    workers: int
    instances: int
    seed: int

    def measure(self) -> Sequence[Row]:
        """The greatest ratio of the greedy makespan to the best one, and the bound."""
        rng = np.random.default_rng(self.seed)
        worst = max(
            self._ratio(rng.integers(1, 65, 8).astype(np.float64)) for _ in range(self.instances)
        )
        tight = np.array([1.0] * (self.workers * (self.workers - 1)) + [float(self.workers)])
        # The best schedule of the tight case is known: the long row alone.
        greedy = _greedy(tight, self.workers) / self.workers
        bound = 2 - 1 / self.workers
        return [{"workers": self.workers, "worst": worst, "tight": greedy, "bound": bound}]

    def _ratio(self, costs: Floats) -> float:
        return _greedy(costs, self.workers) / _best(costs, self.workers)


def _greedy(costs: Floats, workers: int) -> float:
    keys = np.arange(costs.size).astype(np.uint64)
    rows = CostlyRows(keys, costs, np.zeros(costs.size))
    return complete(FullKnowledge(workers, KeyCosts(keys, costs)), rows).makespan


def _best(costs: Floats, workers: int) -> float:
    choices = np.array(list(product(range(workers), repeat=costs.size)))
    loads = np.stack([(costs * (choices == worker)).sum(axis=1) for worker in range(workers)])
    return float(loads.max(axis=0).min())


@dataclass(frozen=True, slots=True)
class Expectation:
    """The mean estimate of the cheapest and the costliest content in one matrix row."""

    sketches: int
    seed: int

    def measure(self) -> Sequence[Row]:
        """Over many hash functions, all content equally frequent; and the theorem's formula."""
        keys = hash_ids(np.arange(KEYS))
        costs = (1 + np.arange(KEYS) % LEVELS).astype(np.float64)
        found = np.zeros(KEYS)
        for seed in range(self.seed, self.seed + self.sketches):
            pair = CostPair(CostShape(epsilon=np.e / COLUMNS, delta=0.5, seed=seed))
            pair.add(keys, costs)
            found += pair.estimate(keys) / self.sketches
        return [
            {"cost": level, "ours": float(found[costs == level].mean()), "formula": formula(level)}
            for level in range(1, LEVELS + 1)
        ]


def formula(cost: float) -> float:
    """Theorem 4.3: what the estimate of content that costs `cost` is on average.

    >>> round(formula(1), 2), round(formula(64), 2)
    (32.08, 32.92)
    """
    total = KEYS * (LEVELS + 1) / 2
    alone = 1 - (1 - 1 / COLUMNS) ** KEYS
    missing = COLUMNS * (total - KEYS * cost) / (KEYS * (KEYS - 1)) * alone
    return (total - cost) / (KEYS - 1) - missing


def _cells(setting: Setting) -> list[Example | Makespan | Expectation]:
    instances, sketches = (20, 50) if setting.quick else (200, 500)
    return [
        Example(),
        *(Makespan(workers, instances, setting.seed) for workers in (2, 3)),
        Expectation(sketches, setting.seed),
    ]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    example = next(row for row in rows if "known" in row)
    spans = [row for row in rows if "bound" in row]
    means = numbers([row for row in rows if "formula" in row], "ours")
    ends = (means[0], means[-1])
    return [
        Claim(
            "rows of 10, 1 and 10 s, a second apart, two workers",
            "29 s round robin, 21 s with known costs",
            f"{example['round_robin']:g} s, {example['known']:g} s",
            (example["round_robin"], example["known"]) == (29.0, 21.0),
        ),
        Claim(
            "greedy makespan ≤ (2 − 1/k) · optimum, and the bound is reached",
            "1.5 for k = 2, 1.667 for k = 3",
            "; ".join(
                f"k = {row['workers']}: worst {row['worst']:.3f}, tight case {row['tight']:.3f}"
                for row in spans
            ),
            all(
                float(row["worst"]) <= float(row["bound"]) + 1e-9
                and abs(float(row["tight"]) - float(row["bound"])) < 1e-9
                for row in spans
            ),
        ),
        Claim(
            "E[W/C] of one matrix row, 55 columns, 4,096 equally frequent items",
            "32.08 … 32.92",
            f"{ends[0]:.2f} (cost 1) … {ends[1]:.2f} (cost 64)",
            abs(ends[0] - 32.08) <= 0.1 and abs(ends[1] - 32.92) <= 0.1,
        ),
    ]


BOUNDS = Figure(
    "bounds",
    "Section II's example; theorems 4.2 and 4.3",
    _cells,
    _claims,
    choices="Theorem 4.2 is tried on random instances of 8 rows against all schedules, and on "
    "k·(k−1) rows of cost 1 followed by one of cost k.",
)
