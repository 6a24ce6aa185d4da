"""Redist: frequent keys in the order of best utility per frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.kernels import WorkerIds
from unskew.rebalancing.hash_pair import HashPairPlanner, Items, place_in_order


@dataclass(frozen=True, slots=True)
class Redist(HashPairPlanner):
    """Reassign frequent keys; each step takes the key with the best utility per frequency.

    Keys are frequent if alone they could use up `sigma` of the imbalance that `alpha` allows.

    When: workers are many: what it migrates hardly grows with them.
    Cost: O(R² * workers) time for R tracked keys, after O(K) to find them.
    Paper: Gedik, Partitioning Functions for Stateful Data Parallelism in Stream Processing,
        section 4.2.3.

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Redist().rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist()
    [5.0, 5.0]
    """

    algorithm: ClassVar[str] = "redist"

    def place(self, items: Items, owner: WorkerIds) -> None:
        """Place the items in the order of best utility per frequency."""
        place_in_order(items, owner, by_frequency=False)
