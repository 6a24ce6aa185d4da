"""How evenly one state store is spread over its partitions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unskew.metrics import max_over_mean


@dataclass(frozen=True, slots=True)
class StoreSkew:
    """One state store of one operator."""

    operator: int
    name: str
    """What the operator does, in Spark's words."""
    store: str
    unit: str
    """What is counted: rows of the store, or bytes where they are known."""
    loads: tuple[int, ...]
    """How many of them each partition has."""

    @property
    def total(self) -> int:
        """All of the store."""
        return sum(self.loads)

    @property
    def max_over_mean(self) -> float:
        """The fullest partition relative to the mean."""
        return max_over_mean(np.array(self.loads)) if self.loads else 1.0

    def fullest(self, count: int = 5) -> list[tuple[int, int]]:
        """The partitions that hold most, with what they hold.

        >>> StoreSkew(0, "stateStoreSave", "default", "rows", (3, 9, 3)).fullest(1)
        [(1, 9)]
        """
        order = sorted(range(len(self.loads)), key=lambda place: (-self.loads[place], place))
        return [(place, self.loads[place]) for place in order[:count]]

    def as_dict(self) -> dict[str, Any]:
        """The fields and what follows from them."""
        figures = {"total": self.total, "max_over_mean": self.max_over_mean}
        return {**asdict(self), "loads": list(self.loads), **figures, "fullest": self.fullest()}
