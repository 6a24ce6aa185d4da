"""Proactive scheduling with a look at a whole Arrow batch: its costliest rows are dealt first.

Rows of a batch are here all at once, which a stream's are not. Dealt by falling cost, the cheap
rows level what the costly ones left, and a source ends with workers that are level to the cost of
its cheapest rows instead of its costliest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.partitioners import Proactive
from unskew.partitioners.contract import KeyHashes, Router, WorkerIds
from unskew.sketches.cost_pair import CostPair


@dataclass(frozen=True, slots=True)
class CostliestFirst:
    """A scheduler that knows the costs."""

    posg: Proactive

    def router(self, source: int = 0, sources: int = 1) -> CostliestFirstRouter:
        """Start the memory of one source."""
        assert self.posg.learned is not None
        learned = self.posg.learned
        costs = CostPair(self.posg.shape, learned.counts.copy(), learned.costs.copy())
        # Sources know nothing of each other: each begins with another worker.
        return CostliestFirstRouter(
            self.posg.router(source, sources), costs, source % self.posg.workers, self.posg.workers
        )


@dataclass(slots=True)
class CostliestFirstRouter:
    """One source's scheduler."""

    inner: Router
    costs: CostPair
    first: int
    workers: int

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every row of one batch."""
        order = np.argsort(-self.costs.estimate(keys), kind="stable")
        out = np.empty(keys.size, dtype=np.int32)
        out[order] = (self.inner.route(keys[order]) + self.first) % self.workers
        return out
