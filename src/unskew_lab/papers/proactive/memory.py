"""Theorem 3.2: what POSG keeps on a worker and at a source, beside its bound."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unskew.partitioners import Proactive
from unskew.partitioners.contract import WorkerReport
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.proactive.streams import Costs, first_seed
from unskew_lab.papers.reading import numbers, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

WORKER, SOURCE = "worker", "source"


@dataclass(frozen=True, slots=True)
class Memory:
    """A stream scheduled and executed, and the most that a worker and the source ever keep."""

    workers: int = 5
    epsilon: float = 0.05
    delta: float = 0.1
    rows: int = 32_768
    keys: int = 4_096
    seed: int = 42

    def measure(self) -> Sequence[Row]:
        """A row for the largest worker and one for the source.

        `of_bound` is in units of the theorem's expression, k times that for the source.
        """
        a_worker = math.log2(1 / self.delta) * math.log2(self.rows * self.keys) / self.epsilon
        return [
            {
                "where": place,
                "workers": self.workers,
                "epsilon": self.epsilon,
                "delta": self.delta,
                "rows": self.rows,
                "keys": self.keys,
                "bytes": kept,
                "of_bound": 8 * kept / (a_worker if place == WORKER else self.workers * a_worker),
            }
            for place, kept in self._run().items()
        ]

    def _run(self) -> dict[str, int]:
        keys, costs, _ = Costs(messages=self.rows, keys=self.keys).draw(self.seed)
        posg = Proactive(self.workers, epsilon=self.epsilon, delta=self.delta, seed=self.seed)
        router, trackers = posg.router(), [posg.tracker(each) for each in range(self.workers)]
        most = {WORKER: 0, SOURCE: 0}
        for first in range(0, keys.size, posg.window):
            part = slice(first, first + posg.window)
            chosen = router.route(keys[part])
            most[SOURCE] = max(most[SOURCE], _kept(router))
            asked = router.take_requests()
            for each in trackers:
                mine = chosen == each.worker
                sent = each.execute(keys[part][mine], costs[part][mine])
                replies = [each.reply(one) for one in asked if one.worker == each.worker]
                router.learn(WorkerReport(costs=(*sent, *replies)))
                most[WORKER] = max(most[WORKER], _kept(each))
        return most


def _kept(state: object) -> int:
    """The bytes of all that an object refers to."""
    return len(pickle.dumps(state))


def _cells(setting: Setting) -> list[Memory]:
    usual = Memory(seed=first_seed(setting))
    return [
        usual,
        *(replace(usual, epsilon=epsilon) for epsilon in (0.01, 0.001)),
        *(replace(usual, delta=delta) for delta in (0.01, 0.0001)),
        *(replace(usual, workers=workers) for workers in (10, 50)),
        replace(usual, rows=8 * usual.rows),
        replace(usual, keys=16 * usual.keys),
    ]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for place, each in ((WORKER, "1/ε"), (SOURCE, "k/ε")):
        here = where(rows, where=place)
        usual, *others = numbers(here, "of_bound")
        worst = max(others) / usual
        kept = numbers(here, "bytes")
        claims.append(
            Claim(
                f"Theorem 3.2: O({each}·log 1/δ·(log m + log n)) bits at a {place}",
                "≤ c · that",
                f"{kept[0] / 1e3:.1f} kB with the paper's setting, c = {usual:.0f}; at most "
                f"{worst:.2f}·c with smaller ε and δ, larger k, m and n",
                worst <= 2,
                value=worst,
                always=True,
            )
        )
    return claims


MEMORY = Figure(
    "memory",
    "Theorem 3.2: memory",
    _cells,
    _claims,
    choices="The most that a worker and the source keep at any time of a run, all that they refer "
    "to written as bytes: matrices of 64-bit cells, and on a worker a snapshot besides the proof's "
    "two. c is that of the paper's setting; in all others it may be twice that at most.",
    draws=DRAWS,
)
