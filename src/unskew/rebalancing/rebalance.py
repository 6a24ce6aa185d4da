"""The result of planning: a new table, the migration it implies and the forecast loads."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, WorkerIds
from unskew.metrics import max_over_mean
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.statistics import Amounts

if TYPE_CHECKING:
    from unskew.rebalancing.assignment import Assignment


class Stop(enum.Enum):
    """Why a planner stopped."""

    SETTLED = "the load was within the tolerance: nothing to do"
    LEVEL = "the load is within the tolerance"
    HEAVY_KEY = "one key alone is heavier than the tolerance allows a worker"
    NO_ROOM = "some keys fit on no worker and went to the least loaded one"
    TABLE_FULL = "the balance needs more table entries than allowed"
    NO_BETTER = "no plan found is better than doing nothing"
    DONE = "no further step improves the balance"


@dataclass(frozen=True, slots=True, eq=False)
class Migration:
    """The keys that change worker when one table replaces another, with their state."""

    keys: KeyHashes
    sources: WorkerIds
    targets: WorkerIds
    memory: Amounts

    @classmethod
    def of(cls, assignment: Assignment, rows: NDArray[np.intp], workers: WorkerIds) -> Self:
        """The migration that takes `rows` from where their state is to `workers`."""
        statistics = assignment.keys
        return cls(
            statistics.keys[rows],
            assignment.previous[rows],
            workers.astype(np.int32),
            statistics.memory[rows],
        )

    @property
    def state(self) -> float:
        """How much state moves."""
        return float(self.memory.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Rebalance:
    """A plan, as an immutable value: new table, migration and the loads before and after."""

    algorithm: str
    table: RoutingTable
    migration: Migration
    loads_before: Amounts
    loads: Amounts
    keys: int
    total_memory: float
    heaviest: float
    stop: Stop
    remarks: tuple[str, ...]
    seconds: float

    @property
    def workers(self) -> int:
        """How many workers the new table has."""
        return self.table.workers

    @property
    def mean(self) -> float:
        """The load of every worker if all were level."""
        return float(self.loads.mean())

    @property
    def bound(self) -> float:
        """The least maximum load of any assignment of whole keys: the mean or the heaviest key."""
        return max(self.mean, self.heaviest)

    @property
    def gap(self) -> float:
        """How far the maximum load is above the bound, as a fraction of the bound."""
        return float(self.loads.max()) / self.bound - 1.0 if self.bound > 0 else 0.0

    @property
    def migration_fraction(self) -> float:
        """The fraction of all state that moves."""
        return self.migration.state / self.total_memory if self.total_memory > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields that `unskew rebalance --json` prints."""
        return {
            "algorithm": self.algorithm,
            "workers": self.workers,
            "keys": self.keys,
            "max_over_mean_before": max_over_mean(self.loads_before),
            "max_over_mean": max_over_mean(self.loads),
            "table_size": int(self.table.keys.size),
            "migrated_keys": int(self.migration.keys.size),
            "migration_fraction": self.migration_fraction,
            "seconds": self.seconds,
            "gap_to_bound": self.gap,
            "stopped": self.stop.name.lower().replace("_", "-"),
            "why": self.stop.value,
            "remarks": list(self.remarks),
        }

    def explain(self) -> str:
        """The plan in a few sentences, for people."""
        before, after = max_over_mean(self.loads_before), max_over_mean(self.loads)
        lines = [
            f"{self.algorithm}: {self.keys:,} keys on {self.workers} workers, "
            f"planned in {self.seconds:.3f} s",
            f"  max/mean {before:.3f} -> {after:.3f} "
            f"({100 * self.gap:.2f} % above the least possible)",
            f"  table {self.table.keys.size:,} entries; {self.migration.keys.size:,} keys move "
            f"with {100 * self.migration_fraction:.2f} % of the state",
            f"  stopped: {self.stop.value}",
        ]
        return "\n".join([*lines, *(f"  {remark}" for remark in self.remarks)])
