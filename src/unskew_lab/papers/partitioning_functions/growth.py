"""The cell of most figures: a scheme grown by one worker at a time; and how it is plotted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.hashing import hash_ids
from unskew.kernels import KeyHashes, WorkerIds
from unskew.metrics import max_over_min
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import ALL, KeyStatistics, Rebalancer
from unskew.rebalancing.hash_pair import Utility
from unskew.rebalancing.resources import Growth, Resources, amount
from unskew.workloads import zipf_probabilities
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, where
from unskew_lab.papers.specification import Claim, Row, Setting, Value

PLANNERS = ("readj", "redist", "scan")
SCHEMES = (*PLANNERS, "consistent", "uniform")
LETTERS: dict[str, Growth] = {"C": "constant", "L": "linear", "Q": "quadratic"}

CHOICES = (
    "Frequencies are exact and follow a Zipf law; each run has other hashes of the keys. N grows "
    "from 1, and migration is that of the last step. Uniform hashing is hash mod N. The imbalance "
    "b is the geometric mean over the three resources of max/min in units of α. Where a resource "
    "is constant the planners weigh the others with exponents that add up to 1 (equation 20 keeps "
    "a third each). The ring has 1,000 points a worker (Sec. 5.5)."
)


def resources_named(letters: str, alpha: float = 1.2) -> Resources:
    """State and computation by their letters, as in LCL; communication is always L."""
    return Resources(LETTERS[letters[0]], LETTERS[letters[1]], alpha)


@dataclass(frozen=True, slots=True)
class Grown:
    """A scheme grown from one worker to `workers`, at the paper's defaults unless said."""

    scheme: str
    domain: int
    runs: int
    letters: str = "LCL"
    workers: int = 10
    exponent: float = 1.0
    sigma: float = 0.1
    utility: Utility = "apm"
    seed: int = 42

    def measure(self) -> Sequence[Row]:
        """One row per number of workers: means over the runs."""
        runs = [self._run(self.seed + run) for run in range(self.runs)]
        return [
            {
                "scheme": self.scheme,
                "resources": self.letters,
                "workers": workers,
                "exponent": self.exponent,
                "domain": self.domain,
                "sigma": self.sigma,
                "utility": self.utility,
                **{
                    name: float(np.mean([run[step][name] for run in runs]))
                    for name in runs[0][step]
                },
            }
            for step, workers in enumerate(range(2, self.workers + 1))
        ]

    def _run(self, seed: int) -> list[dict[str, float]]:
        frequency = zipf_probabilities(self.exponent, self.domain)
        ids = np.arange(self.domain, dtype=np.int64) + np.int64(seed) * np.int64(10**9)
        keys = KeyStatistics.of(hash_ids(ids), frequency)
        table = RoutingTable(1, base=ConsistentRing(1))
        owner = np.zeros(self.domain, dtype=np.int32)
        steps = []
        for workers in range(2, self.workers + 1):
            if self.scheme in PLANNERS:
                table = self._planner().rebalance(keys, table, workers).table
            after = self._owner(keys.keys, table, workers)
            steps.append(self._step(keys.frequency, owner, after, workers))
            owner = after
        return steps

    def _planner(self) -> Rebalancer:
        resources = resources_named(self.letters)
        return ALL[self.scheme](
            sigma=self.sigma,
            utility=self.utility,
            state=resources.state,
            computation=resources.computation,
        )  # type: ignore[call-arg]

    def _owner(self, keys: KeyHashes, table: RoutingTable, workers: int) -> WorkerIds:
        if self.scheme in PLANNERS:
            return table.router().route(keys)
        if self.scheme == "consistent":
            return ConsistentRing(workers).router().route(keys)
        return (keys % np.uint64(workers)).astype(np.int32)

    def _step(
        self, frequency: NDArray[np.float64], before: WorkerIds, after: WorkerIds, workers: int
    ) -> dict[str, float]:
        resources = resources_named(self.letters)
        each = {
            name: np.bincount(after, weights=amount(growth, frequency), minlength=workers)
            for name, growth in zip(("s", "c", "n"), resources.each, strict=True)
        }
        return {
            "imbalance": resources.relative_imbalance(frequency, after, workers),
            "migration": resources.relative_migration(frequency, before, after, workers),
            **{f"b_{name}": max_over_min(load) / resources.alpha for name, load in each.items()},
        }


def grown(setting: Setting, scheme: str, **changes: Value) -> Grown:
    """The paper's defaults at full size; a tenth of the domain and a single run when quick."""
    defaults: dict[str, Value] = {
        "domain": 100_000 if setting.quick else 1_000_000,
        "runs": 1 if setting.quick else 5,
        "seed": 1_000 * setting.seed,
    }
    return Grown(scheme, **{**defaults, **changes})  # type: ignore[arg-type]


def at_ten(rows: Sequence[Row]) -> list[Row]:
    """The rows of the last step, at the default number of workers."""
    return where(rows, workers=10)


def order_of_migration(about: str, migration: Mapping[str, float]) -> Claim:
    """What the paper says of the planners in all its figures, on how much each migrates."""
    return Claim(
        f"{about} scan migrates most and redist least",
        "scan, readj, redist",
        ", ".join(f"{planner} {migration[planner]:.2f}" for planner in PLANNERS),
        migration["redist"] < migration["readj"] < migration["scan"],
        "redist and readj move the heaviest keys for the balance; scan places them first and where "
        "they were, and migrates no more than redist",
        value=migration["scan"] / migration["redist"],
    )


def curves(rows: Sequence[Row], title: str, x: str, label: str, log_x: bool = False) -> Plot:
    """Migration and imbalance over what the figure varies, a row of panels per resource."""
    # Uniform hashing migrates many times what the others do, which would all be one line.
    apart = "uniform" in distinct(rows, "scheme")
    panels = [
        Panel(f"{name}, {letters}", label, name, lines(part, x, column), log_x, log_y)
        for letters in distinct(rows, "resources")
        if (part := where(rows, resources=letters))
        for column, name, log_y in (
            ("migration", "relative migration", apart),
            ("imbalance", "relative imbalance", False),
        )
    ]
    return Plot(f"Partitioning functions, {title}", panels, columns=2)
