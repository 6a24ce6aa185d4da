"""Full knowledge: an oracle that knows the cost of every row before it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.cost_pair import Floats
from unskew.kernels.proactive import assign_by_known_costs
from unskew.partitioners.contract import KeyHashes, Need, PartitionerBase, WorkerIds, check_workers
from unskew.sketches.frozen import ArrayValue, frozen


@dataclass(frozen=True, eq=False, slots=True)
class KeyCosts(ArrayValue):
    """What a row of each key costs, sorted by key. Other keys cost the mean."""

    keys: KeyHashes
    costs: Floats

    def __post_init__(self) -> None:
        if self.keys.shape != self.costs.shape or self.keys.ndim != 1:
            raise ParameterError(
                f"keys and costs must be two vectors of equal length, not of shape "
                f"{self.keys.shape} and {self.costs.shape}"
            )
        if self.costs.size and not self.costs.min() >= 0:
            raise ParameterError(f"a cost of {self.costs.min()} is negative; give 0 or more")
        order = np.argsort(self.keys, kind="stable")
        object.__setattr__(self, "keys", frozen(self.keys[order], np.uint64))
        object.__setattr__(self, "costs", frozen(self.costs[order], np.float64))

    @classmethod
    def none(cls) -> KeyCosts:
        """No keys at all: every row costs 1."""
        return cls(np.empty(0, dtype=np.uint64), np.empty(0))

    def of(self, keys: KeyHashes) -> Floats:
        """The cost of every key."""
        if not self.keys.size:
            return np.ones(keys.size)
        at = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[at] == keys, self.costs[at], self.costs.mean())


@dataclass(frozen=True, eq=False, slots=True)
class FullKnowledge(ArrayValue, PartitionerBase):
    """Send each row, whose cost is known, to the worker with the least cost so far.

    `factors` say how many times longer each worker takes than the costs; all 1 if empty.

    When: as the yardstick of what scheduling by cost can reach. Nobody knows the costs.
    Cost: O(workers + log keys) time per row, O(keys) memory per source.
    Paper: Proactive Online Shuffle Grouping, section V-B; section IV-A shows that its last worker
        finishes at most (2 - 1/workers) times later than the best schedule's.

    >>> costs = KeyCosts(np.array([1, 2], dtype=np.uint64), np.array([10.0, 1.0]))
    >>> rows = np.array([1, 2, 1], dtype=np.uint64)
    >>> FullKnowledge(workers=2, costs=costs).router().route(rows).tolist()
    [0, 1, 1]
    """

    scheme: ClassVar[str] = "full-knowledge"
    need: ClassVar[Need] = Need.ANY_ROW

    workers: int
    costs: KeyCosts = field(default_factory=KeyCosts.none)
    factors: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        object.__setattr__(self, "factors", frozen(self.factors, np.float64))
        if self.factors.size not in (0, self.workers) or not (self.factors > 0).all():
            raise ParameterError(
                f"factors={self.factors.tolist()} must be {self.workers} numbers above 0, one for "
                "each worker"
            )

    @property
    def max_replicas(self) -> int:
        """A key may be anywhere."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> FullKnowledgeRouter:
        """Start the memory of one source: the cost it has sent to each worker."""
        factors = self.factors if self.factors.size else np.ones(self.workers)
        return FullKnowledgeRouter(self.costs, factors, np.zeros(self.workers))


@dataclass(slots=True)
class FullKnowledgeRouter:
    """The cost that one source has sent to each worker."""

    costs: KeyCosts
    factors: Floats
    loads: Floats

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        assign_by_known_costs(self.costs.of(keys), self.factors, self.loads, out)
        return out
