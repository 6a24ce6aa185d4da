"""What the workers of a stream had to do in an interval, key by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unskew._spark.stateful.reports import WorkerReport

Cost = Literal["seconds", "rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Cost and state size of the keys with rows or timers in the batches of one interval."""

    keys: NDArray[np.uint64]
    cost: NDArray[np.float64]
    memory: NDArray[np.float64]
    unlisted: float
    rests: NDArray[np.float64]
    """What is unlisted of each worker; the others of `unlisted` may be anywhere."""
    seconds: float = 0.0
    """Time in the processor: what the cost of all keys, in whatever unit, took."""

    @classmethod
    def of(cls, reports: Sequence[WorkerReport], cost: Cost) -> Interval:
        """Sum the reports of an interval's batches, the oldest first."""
        hashes = _joined([report.hashes for report in reports]).view(np.uint64)
        costs = _joined([getattr(report, cost) for report in reports])
        memory = _joined([report.memory for report in reports])
        totals = [report.totals for report in reports]
        rests = (
            np.bincount(
                [each.worker for each in totals],
                [getattr(each, f"unlisted_{cost}") for each in totals],
            ).astype(np.float64)
            if totals
            else np.empty(0)
        )
        keys, rows = np.unique(hashes, return_inverse=True)
        latest = np.zeros(keys.size)
        # The last report of a key wins: that is what its state takes now.
        latest[rows] = memory
        summed = np.bincount(rows, costs, keys.size).astype(np.float64)
        spent = sum(each.seconds for each in totals)
        return cls(keys, summed, latest, float(rests.sum()), rests, spent)

    @property
    def seconds_per_cost(self) -> float:
        """What a unit of cost takes: cost may be in rows, and what it takes is still time."""
        total = float(self.cost.sum()) + self.unlisted
        return self.seconds / total if total > 0 else 0.0

    def largest(self, count: int) -> Interval:
        """The keys with the largest state; the cost of the others counts as unlisted."""
        if self.keys.size <= count:
            return self
        kept = np.sort(np.argsort(-self.memory, kind="stable")[:count])
        rest = float(self.cost.sum() - self.cost[kept].sum())
        return dataclasses.replace(
            self, keys=self.keys[kept], cost=self.cost[kept], memory=self.memory[kept],
            unlisted=self.unlisted + rest,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """How large the state of some keys is; keys in ascending order."""

    keys: NDArray[np.uint64]
    memory: NDArray[np.float64]

    @classmethod
    def none(cls) -> States:
        """Of no keys."""
        return cls(np.empty(0, dtype=np.uint64), np.empty(0))

    def updated(self, interval: Interval) -> States:
        """With what a later interval tells."""
        keys = np.concatenate([interval.keys, self.keys])
        memory = np.concatenate([interval.memory, self.memory])
        keys, first = np.unique(keys, return_index=True)
        return States(keys, memory[first])

    def left(self, named: NDArray[np.uint64], but: Sequence[NDArray[np.uint64]]) -> States:
        """Those that are `named`, have state, and are in none of `but`; all are in order."""
        found = self._of((self.memory > 0) & _among(self.keys, named))
        for each in but:
            found = found._of(~_among(found.keys, each))
        return found

    def _of(self, chosen: NDArray[np.bool_]) -> States:
        return States(self.keys[chosen], self.memory[chosen])


def _among(keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which keys are in `wanted`, which is in ascending order."""
    if not wanted.size:
        return np.zeros(keys.size, dtype=np.bool_)
    places = np.minimum(np.searchsorted(wanted, keys), wanted.size - 1)
    found: NDArray[np.bool_] = wanted[places] == keys
    return found


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
