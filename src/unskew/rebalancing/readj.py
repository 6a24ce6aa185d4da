"""Moves and swaps of frequent keys, as long as they help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels import WorkerIds
from unskew.kernels.readjusting import readjust_items
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.hash_pair import Items, Utility, check_pair, plan_pair
from unskew.rebalancing.outset import Outset
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.resources import Growth, Resources
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class Readj:
    """Leave frequent keys where they are, then move and swap them while the balance improves.

    Keys are frequent if alone they could use up `sigma` of the imbalance that `alpha` allows.

    When: there are few frequent keys and the balance counts most. Not with a small sigma: slow.
    Cost: O(R²) time a step, at most `moves` * R steps for R tracked keys, after O(K) to find them.
    Paper: Gedik, Partitioning Functions for Stateful Data Parallelism in Stream Processing,
        section 4.2.4.

    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Readj().rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist()
    [5.0, 5.0]
    """

    algorithm: ClassVar[str] = "readj"

    sigma: float = 0.1
    alpha: float = 1.2
    utility: Utility = "apm"
    state: Growth = "linear"
    computation: Growth = "constant"
    moves: int = 5

    def __post_init__(self) -> None:
        check_fields(self)
        check_pair(self.sigma, self.utility)
        if self.moves < 1:
            raise ParameterError(f"moves={self.moves} is not at least 1 move per key")
        Resources(self.state, self.computation, self.alpha)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""

        def fill(items: Items, owner: WorkerIds) -> int:
            return readjust_items(
                items.frequency, items.amounts, items.weights, items.state, items.old, items.theta,
                items.utility, items.moved, items.ideal, items.workers, self.moves, owner,
            )  # fmt: skip

        outset = Outset.of(keys, current, workers)
        resources = Resources(self.state, self.computation, self.alpha)
        return plan_pair(self.algorithm, outset, resources, self.sigma, self.utility, fill)
