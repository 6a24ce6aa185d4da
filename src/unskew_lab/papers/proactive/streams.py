"""The cell of figures 4 to 9: streams whose cost depends on content, under every scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unskew.hashing import hash_ids
from unskew.kernels.completion import finish_times
from unskew.kernels.cost_pair import Floats
from unskew.partitioners import FullKnowledge, Partitioner, Proactive, ShuffleGrouping
from unskew.partitioners.contract import KeyHashes, WorkerIds
from unskew.partitioners.full_knowledge import FullKnowledgeRouter, KeyCosts
from unskew.simulator.completion import Completion, CostlyRows, complete
from unskew.workloads.zipf import zipf_probabilities
from unskew_lab.papers.specification import Row, Setting

ROUND_ROBIN = "Round Robin"
POSG = "POSG"
ORACLE = "Full Knowledge"
LATE = "Full Knowledge after round robin"
WRITTEN = "POSG, equation 1 met"
RARE = "POSG, asked with matrices only"
SPENT = "POSG, corrected to time spent"
VARIANTS = (WRITTEN, RARE, SPENT)
"""POSG as the text has it, in one respect each."""

ANY = 1e9
"""A tolerance that every snapshot meets: matrices are sent after two windows."""

CHOICES = (
    "POSG sends matrices after two windows, asks workers for their times with new matrices or "
    "after k·N rows without, and corrects to finish times (see the slips). "
)


@dataclass(frozen=True, slots=True)
class Costs:
    """A random stream of the paper: `keys` items, each with one of `values` costs up to `highest`.

    Every seed deals the costs to the items at random, each equally often.
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
        starts: dict[str, list[int]] = {}
        for seed in range(self.seed, self.seed + self.streams):
            for name, result in self.run(seed):
                times.setdefault(name, []).append(result.mean)
                left = self.costs.messages if result.left is None else result.left
                starts.setdefault(name, []).append(left)
        robin = np.array(times[ROUND_ROBIN])
        return [self._row(name, np.array(times[name]), robin, starts[name]) for name in times]

    def run(self, seed: int) -> Iterator[tuple[str, Completion]]:
        """One stream under every scheme."""
        keys, costs, known = self.costs.draw(seed)
        rows = CostlyRows.at_rate(keys, costs, self.workers, self.provisioning)
        for name, partitioner in self.schemes(known, seed):
            result = complete(partitioner, rows)
            yield name, result
            if name == POSG:
                left = keys.size if result.left is None else result.left
                yield LATE, late_knowledge(known, rows, self.workers, left)

    def schemes(self, known: KeyCosts, seed: int) -> list[tuple[str, Partitioner]]:
        """The paper's three, and POSG with its text taken literally."""
        posg = Proactive(self.workers, tolerance=ANY, epsilon=self.epsilon, seed=seed)
        return [
            (ROUND_ROBIN, ShuffleGrouping(self.workers)),
            (POSG, posg),
            (ORACLE, FullKnowledge(self.workers, known)),
            (WRITTEN, replace(posg, tolerance=0.05)),
            (RARE, replace(posg, resync=0)),
            (SPENT, replace(posg, clock="spent")),
        ]

    def _row(self, name: str, times: Floats, robin: Floats, starts: Sequence[int]) -> Row:
        gains = robin / times
        return {
            "x": self.x,
            "scheme": name,
            "streams": self.streams,
            "rows": self.costs.messages,
            "provisioning": round(100 * self.provisioning),
            "milliseconds": float(times.mean()),
            "least_milliseconds": float(times.min()),
            "most_milliseconds": float(times.max()),
            "speed_up": float(gains.mean()),
            "least_speed_up": float(gains.min()),
            "most_speed_up": float(gains.max()),
            "leaves_round_robin": float(np.median(starts)),
        }


def late_knowledge(known: KeyCosts, rows: CostlyRows, workers: int, left: int) -> Completion:
    """Round robin up to row `left`, then with all costs known: what POSG could reach at best."""
    chosen = (np.arange(rows.keys.size) % workers).astype(np.int32)
    finish = _finish(rows, workers, chosen)
    free = np.array([finish[:left][worker::workers].max(initial=0.0) for worker in range(workers)])
    router = FullKnowledgeRouter(known, np.ones(workers), free)
    chosen[left:] = router.route(rows.keys[left:])
    finish = _finish(rows, workers, chosen)
    return Completion(chosen, finish, finish - rows.arrivals)


def _finish(rows: CostlyRows, workers: int, chosen: WorkerIds) -> Floats:
    out = np.empty(rows.keys.size)
    factors = rows.factors_for(workers)
    finish_times(rows.arrivals, rows.costs, factors, rows.phases(), chosen, out)
    return out


def streams(setting: Setting) -> int:
    """How many streams: the paper's hundred, or ten."""
    return 10 if setting.quick else 100
