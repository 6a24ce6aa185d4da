"""Readj: moves and swaps of frequent keys while the balance improves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.errors import ParameterError
from unskew.kernels import WorkerIds
from unskew.kernels.readjusting import readjust_items
from unskew.rebalancing.hash_pair import HashPairPlanner, Items


@dataclass(frozen=True, slots=True)
class Readj(HashPairPlanner):
    """Leave frequent keys where they are, then move and swap them while the balance improves.

    Keys are frequent if alone they could use up `sigma` of the imbalance that `alpha` allows.

    When: there are few frequent keys and the balance counts most. Not with a small sigma: slow.
    Cost: O(R²) time a step, at most `moves` * R steps for R tracked keys, after O(K) to find them.
    Paper: Gedik, Partitioning Functions for Stateful Data Parallelism in Stream Processing,
        section 4.2.4.

    >>> from unskew.partitioners import RoutingTable
    >>> from unskew.rebalancing import KeyStatistics
    >>> keys = KeyStatistics.of([1, 2, 3, 4], cost=[4, 4, 1, 1])   # all at home on worker 0
    >>> plan = Readj().rebalance(keys, RoutingTable(2), workers=2)
    >>> plan.loads.tolist()
    [5.0, 5.0]
    """

    algorithm: ClassVar[str] = "readj"

    moves: int = 5

    def __post_init__(self) -> None:
        HashPairPlanner.__post_init__(self)
        if self.moves < 1:
            raise ParameterError(f"moves={self.moves} is not at least 1 move per key")

    def place(self, items: Items, owner: WorkerIds) -> None:
        """Move and swap the items while that improves the utility."""
        readjust_items(
            items.frequency, items.amounts, items.weights, items.state, items.old, items.theta,
            items.utility, items.moved, items.ideal, items.workers, self.moves, owner,
        )  # fmt: skip
