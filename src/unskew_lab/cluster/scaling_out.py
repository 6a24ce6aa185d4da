"""Plans for one worker more: how long planners take for as many keys as the paper's Social has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unskew.metrics import max_over_mean
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import KeyStatistics, Mixed, Readj, Rebalance
from unskew.workloads import FluctuatingKeys
from unskew_lab.papers.specification import Row

SIGMAS = (0.1, 0.05, 0.02, 0.01)
"""Readj's, from the fastest on; the paper reports the best of several."""


@dataclass(frozen=True, slots=True)
class ScaledOut:
    """Level loads on `workers`, then a plan for one more by each planner."""

    theta: float
    seed: int
    keys: int = 180_000
    exponent: float = 0.85
    workers: int = 15

    def measure(self) -> Sequence[Row]:
        """A row for Mixed, and for Readj with the largest σ that meets the tolerance, if one does.

        Readj's first plans load its kernels.
        """
        words = FluctuatingKeys.zipf(self.exponent, self.keys, self.seed)
        keys = KeyStatistics.of(words.hashes, words.counts(10 * self.keys))
        ring = RoutingTable(self.workers, base=ConsistentRing(self.workers))
        level = Mixed(self.theta).rebalance(keys, ring, self.workers).table
        rows = [self._row("mixed", Mixed(self.theta).rebalance(keys, level, self.workers + 1))]
        for sigma in SIGMAS:
            readj = Readj(sigma=sigma, theta=self.theta)
            plan = readj.rebalance(keys, level, self.workers + 1)
            if max_over_mean(plan.loads) <= 1 + self.theta:
                break
        return [*rows, {**self._row("readj", plan), "sigma": sigma}]

    def _row(self, planner: str, plan: Rebalance) -> Row:
        return {
            "planner": planner,
            "keys": self.keys,
            "planned_in": plan.seconds,
            "max_over_mean": max_over_mean(plan.loads),
        }
