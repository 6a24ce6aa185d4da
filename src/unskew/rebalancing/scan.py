"""Frequent keys in falling order of frequency, each where it is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.hash_pair import Utility, check_pair, placing, plan_pair
from unskew.rebalancing.outset import Outset
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.resources import Growth, Resources
from unskew.rebalancing.statistics import KeyStatistics


@dataclass(frozen=True, slots=True)
class Scan:
    """Place frequent keys anew, the most frequent first, each where balance and migration are best.

    Keys are frequent if alone they could use up `sigma` of the imbalance that `alpha` allows.

    When: keys are many and plans must be quick. It migrates most of the three of its family.
    Cost: O(R * workers) time for R tracked keys, after O(K) to find them.
    Paper: Gedik, Partitioning Functions for Stateful Data Parallelism in Stream Processing,
        section 4.2.2.

    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Scan().rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist()
    [5.0, 5.0]
    """

    algorithm: ClassVar[str] = "scan"

    sigma: float = 0.1
    alpha: float = 1.2
    utility: Utility = "apm"
    state: Growth = "linear"
    computation: Growth = "constant"

    def __post_init__(self) -> None:
        check_fields(self)
        check_pair(self.sigma, self.utility)
        Resources(self.state, self.computation, self.alpha)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        outset = Outset.of(keys, current, workers)
        resources = Resources(self.state, self.computation, self.alpha)
        place = placing(in_order=True)
        return plan_pair(self.algorithm, outset, resources, self.sigma, self.utility, place)
