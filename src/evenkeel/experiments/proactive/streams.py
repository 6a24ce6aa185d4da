"""Streams whose cost depends on content, scheduled several ways: the cell behind figures 4 to 9."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenkeel.experiments.specification import Row, Setting
from evenkeel.hashing import hash_ids
from evenkeel.kernels.cost_pair import Floats
from evenkeel.partitioners import FullKnowledge, Partitioner, Proactive, ShuffleGrouping
from evenkeel.partitioners.contract import KeyHashes
from evenkeel.partitioners.full_knowledge import KeyCosts
from evenkeel.simulator.completion import Completion, CostlyRows, complete
from evenkeel.workloads.zipf import zipf_probabilities

ROUND_ROBIN = "Round Robin"
POSG = "POSG"
ORACLE = "Full Knowledge"
EAGER = "POSG, first check passes"
LEVEL = "POSG, corrected to finish times"
BOTH = "POSG, both"
VARIANTS = (EAGER, LEVEL, BOTH)

ANY = 1e9
"""A tolerance that every snapshot meets."""


@dataclass(frozen=True, slots=True)
class Costs:
    """A random stream of the paper: `keys` items, each with one of `values` costs up to `highest`.

    Costs are dealt to the items at random, equally often, anew for every seed.
    """

    exponent: float = 1.0
    values: int = 64
    highest: float = 64.0
    messages: int = 32_768
    keys: int = 4_096

    def draw(self, seed: int) -> tuple[KeyHashes, Floats, KeyCosts]:
        """The rows' keys and costs in milliseconds, and the cost of every key."""
        rng = np.random.default_rng([seed, round(1000 * self.exponent), self.values])
        cumulated = np.cumsum(zipf_probabilities(self.exponent, self.keys))
        ids = np.searchsorted(cumulated, rng.random(self.messages) * cumulated[-1])
        levels = np.linspace(1.0, self.highest, self.values)
        costs = levels[rng.permutation(self.keys) % self.values]
        hashes = hash_ids(np.arange(self.keys))
        return hashes[ids], costs[ids], KeyCosts(hashes, costs)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Many streams of one kind, each scheduled by every scheme; one row per scheme."""

    x: float
    costs: Costs = Costs()
    workers: int = 5
    provisioning: float = 1.0
    epsilon: float = 0.05
    streams: int = 100
    seed: int = 42

    def measure(self) -> Sequence[Row]:
        """Mean, least and greatest completion time and speed-up over the streams."""
        times: dict[str, list[float]] = {}
        starts = []
        for seed in range(self.seed, self.seed + self.streams):
            for name, result in self.run(seed):
                times.setdefault(name, []).append(result.mean)
                if name == POSG:
                    starts.append(self.costs.messages if result.started is None else result.started)
        robin = np.array(times[ROUND_ROBIN])
        return [self._row(name, np.array(each), robin, starts) for name, each in times.items()]

    def run(self, seed: int) -> Iterator[tuple[str, Completion]]:
        """One stream under every scheme."""
        keys, costs, known = self.costs.draw(seed)
        rows = CostlyRows.at_rate(keys, costs, self.workers, self.provisioning)
        for name, partitioner in self.schemes(known, seed):
            yield name, complete(partitioner, rows)

    def schemes(self, known: KeyCosts, seed: int) -> list[tuple[str, Partitioner]]:
        """The paper's three, and POSG without what we hold against it."""
        posg = Proactive(self.workers, epsilon=self.epsilon, seed=seed, clock="spent")
        return [
            (ROUND_ROBIN, ShuffleGrouping(self.workers)),
            (POSG, posg),
            (ORACLE, FullKnowledge(self.workers, known)),
            (EAGER, replace(posg, tolerance=ANY)),
            (LEVEL, replace(posg, clock="finish")),
            (BOTH, replace(posg, tolerance=ANY, clock="finish")),
        ]

    def _row(self, name: str, times: Floats, robin: Floats, starts: Sequence[int]) -> Row:
        gains = robin / times
        return {
            "x": self.x,
            "scheme": name,
            "streams": self.streams,
            "milliseconds": float(times.mean()),
            "least_milliseconds": float(times.min()),
            "most_milliseconds": float(times.max()),
            "speed_up": float(gains.mean()),
            "least_speed_up": float(gains.min()),
            "most_speed_up": float(gains.max()),
            "leaves_round_robin": float(np.median(starts)) if name == POSG else 0.0,
        }


def streams(setting: Setting) -> int:
    """How many streams: the paper's hundred, or ten."""
    return 10 if setting.quick else 100
