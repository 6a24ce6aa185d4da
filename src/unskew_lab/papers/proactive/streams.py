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
OFTEN = "POSG, asked after N rows"
OFTEN_2 = "POSG, asked after 2N rows"
VARIANTS = (WRITTEN, RARE, SPENT)
"""POSG as the text has it, in one respect each."""

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
    variants: bool = False
    """Whether POSG is also tried with its text taken literally, and asking more often."""

    def measure(self) -> Sequence[Row]:
        """Mean, least and greatest completion time and speed-up over the streams.

        `speed_up_after` is of the rows after POSG has left round robin.
        """
        found = [dict(self.run(seed)) for seed in range(self.seed, self.seed + self.streams)]
        return [self._row(name, found) for name in found[0]]

    def run(self, seed: int) -> Iterator[tuple[str, Completion]]:
        """One stream under every scheme."""
        keys, costs, known = self.costs.draw(seed)
        rows = CostlyRows.at_rate(keys, costs, self.workers, self.provisioning)
        for name, partitioner in self.schemes(known, seed):
            result = complete(partitioner, rows)
            yield name, result
            if name == POSG:
                yield LATE, late_knowledge(known, rows, self.workers, _left(result))

    def schemes(self, known: KeyCosts, seed: int) -> list[tuple[str, Partitioner]]:
        """The paper's three, and POSG with its text taken literally."""
        posg = Proactive(self.workers, epsilon=self.epsilon, seed=seed)
        schemes: list[tuple[str, Partitioner]] = [
            (ROUND_ROBIN, ShuffleGrouping(self.workers)),
            (POSG, posg),
            (ORACLE, FullKnowledge(self.workers, known)),
        ]
        if not self.variants:
            return schemes
        return [
            *schemes,
            (WRITTEN, replace(posg, tolerance=0.05)),
            (RARE, replace(posg, resync=0)),
            (SPENT, replace(posg, clock="spent")),
            (OFTEN, replace(posg, resync=posg.window)),
            (OFTEN_2, replace(posg, resync=2 * posg.window)),
        ]

    def _row(self, name: str, found: Sequence[dict[str, Completion]]) -> Row:
        times = np.array([each[name].mean for each in found])
        gains = np.array([each[ROUND_ROBIN].mean for each in found]) / times
        left = [_left(each[POSG]) for each in found]
        after = [
            each[ROUND_ROBIN].times[row:].sum() / each[name].times[row:].sum()
            for each, row in zip(found, left, strict=True)
            if row < self.costs.messages
        ]
        rounds = self.workers * self.costs.messages / Proactive(self.workers).window
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
            "speed_up_after": float(np.mean(after)) if after else 1.0,
            "least_speed_up": float(gains.min()),
            "most_speed_up": float(gains.max()),
            "leaves_round_robin": float(np.median([_left(each[name]) for each in found])),
            "messages_of_bound": max(each[name].messages for each in found) / rounds,
        }


def _left(result: Completion) -> int:
    return result.times.size if result.left is None else result.left


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
    """How many streams a draw has: eleven draws of nine are the paper's hundred."""
    return 9 if setting.quick else 30


def first_seed(setting: Setting) -> int:
    """Draws have streams of their own."""
    return 1_000 * setting.seed
