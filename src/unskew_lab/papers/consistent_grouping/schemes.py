"""The schemes that are compared, also over virtual workers that map to workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.partitioners import (
    BoundedRing,
    ConsistentGrouping,
    KeyGrouping,
    PartialKey,
    Partitioner,
    RandomChoices,
    ShuffleGrouping,
    TwoRandomChoices,
)
from unskew.partitioners.contract import KeyHashes, Need, PartitionerBase, Router, WorkerIds
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.specification import Row

WP = "WP-like"
EPSILON = 0.01
MEMORY = "replicas / messages"
ABOVE_MEAN = "imbalance: max/mean − 1"


def schemes(workers: int, draw: int = 0) -> dict[str, Partitioner]:
    """The six schemes of figure 4 by the paper's names, with its independent hashes."""
    return {
        "KG": KeyGrouping(workers),
        "PKG": PartialKey(workers, distinct=False),
        "PoTC": TwoRandomChoices(workers, distinct=False, seed=42 + draw),
        "PoRC": RandomChoices(workers, EPSILON, distinct=False),
        "CH": BoundedRing(workers, EPSILON),
        "SG": ShuffleGrouping(workers),
    }


def cg(workers: int, virtual: int = 10, epsilon: float = EPSILON) -> ConsistentGrouping:
    """CG as the paper has it: independent hashes, one virtual worker a signal, all rows count."""
    return ConsistentGrouping(workers, virtual, epsilon, distinct=False, eager=False)


@dataclass(frozen=True, slots=True)
class OnVirtualWorkers(PartitionerBase):
    """A scheme over virtual workers, which are dealt to the workers once and never move."""

    scheme: ClassVar[str] = "on-virtual-workers"
    inner: Partitioner
    workers: int

    @property
    def need(self) -> Need:
        """As the scheme over virtual workers."""
        return self.inner.need

    @property
    def max_replicas(self) -> int:
        """At most one per worker."""
        return min(self.inner.max_replicas, self.workers)

    def router(self, source: int = 0, sources: int = 1) -> OwnerRouter:
        """Start the memory of one source: that of the scheme inside."""
        return OwnerRouter(self.inner.router(source, sources), self.workers)


@dataclass(slots=True)
class OwnerRouter:
    """Routes to virtual workers and names their owners."""

    inner: Router
    workers: int

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        return self.inner.route(keys) % np.int32(self.workers)


@dataclass(frozen=True, slots=True)
class At:
    """A routed stream at one value of what a figure varies."""

    name: str
    value: float
    routed: Routed

    def measure(self) -> Sequence[Row]:
        """One row, with the value."""
        return [{self.name: self.value, **row} for row in self.routed.measure()]


def listed(values: Sequence[float]) -> str:
    """Some numbers as text."""
    return ", ".join(f"{value:.3g}" for value in values)
