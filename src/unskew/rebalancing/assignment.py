"""Where every key is before planning, and how moves become a plan."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import WorkerIds
from unskew.partitioners.contract import Partitioner, check_workers
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.rebalance import Migration, Rebalance, Stop
from unskew.rebalancing.statistics import Amounts, KeyStatistics

Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Three workers per key: `previous` (has its state), `home` (by hash), `start` (of planning).

    `home` and `start` belong to the new number of workers. A key starts where the current table
    has it; without an entry, or if its worker goes away, it starts at home. Entries of keys
    without statistics are dropped: such a key has had no state for a whole window.
    """

    keys: KeyStatistics
    current: RoutingTable
    base: Partitioner
    previous: WorkerIds
    home: WorkerIds
    start: WorkerIds
    loads: Amounts
    loads_before: Amounts
    began: float

    @classmethod
    def of(cls, keys: KeyStatistics, current: RoutingTable, workers: int) -> Self:
        """Look up every key under the current table and under `workers` workers."""
        began = time.perf_counter()
        check_workers(workers)
        base = (
            current.fallback
            if current.fallback.workers == workers
            else dataclasses.replace(current.fallback, workers=workers)  # type: ignore[type-var]
        )
        home = base.router().route(keys.keys)
        before = home if base is current.fallback else current.fallback.router().route(keys.keys)
        rows, entries = rows_in(keys.keys, current.keys)
        owners = current.owners[entries]
        previous = before.copy()
        previous[rows] = owners
        start = previous if base is current.fallback else home.copy()
        if start is not previous:
            stay = owners < workers
            start[rows[stay]] = owners[stay]
        loads_before = loads_of(keys, previous, current.workers)
        loads = loads_before if start is previous else loads_of(keys, start, workers)
        return cls(keys, current, base, previous, home, start, loads, loads_before, began)

    @property
    def workers(self) -> int:
        """The number of workers after the change."""
        return int(self.loads.size)

    @property
    def entries(self) -> Rows:
        """The rows that do not start on their home worker."""
        return np.flatnonzero(self.start != self.home)

    @property
    def mean(self) -> float:
        """The load of every worker if all were level."""
        return self.keys.total_cost / self.workers

    def limit(self, theta: float) -> float:
        """The load that no worker should exceed: 1 + theta times the mean."""
        return (1.0 + theta) * self.mean

    def settled(self, theta: float, table: int | None) -> bool:
        """Whether there is nothing to do: same workers, load within `theta`, table in bounds."""
        return (
            self.current.workers == self.workers
            and bool(self.loads.max(initial=0.0) <= self.limit(theta) * (1 + 1e-9))
            and (table is None or self.current.keys.size <= table)
        )

    def unchanged(self, algorithm: str, stop: Stop = Stop.SETTLED) -> Rebalance:
        """The plan that keeps the current table."""
        nothing = np.empty(0, dtype=np.intp)
        return Rebalance(
            algorithm, self.current, Migration.of(self, nothing, self.previous[:0]),
            self.loads_before, self.loads_before, self.keys.size, float(self.keys.memory.sum()),
            self.keys.heaviest, stop, (), self.seconds,
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """The time since planning began."""
        return time.perf_counter() - self.began

    def conclude(
        self,
        algorithm: str,
        rows: Rows,
        workers: WorkerIds,
        *,
        stop: Stop,
        table: int | None = None,
        remarks: tuple[str, ...] = (),
    ) -> Rebalance:
        """The plan in which `rows` go to `workers` and every other key stays where it starts.

        If its maximum load exceeds the current one, keep the current table, provided that the
        workers are the same and the table is within its limit.
        """
        moved = np.flatnonzero(workers != self.start[rows])
        order = moved[np.argsort(rows[moved])]
        rows, workers = rows[order], workers[order]
        new_table = self._table(rows, workers, table)
        if table is not None and new_table.keys.size > table:
            stop = Stop.TABLE_FULL
        loads = self.loads.copy()
        np.subtract.at(loads, self.start[rows], self.keys.cost[rows])
        np.add.at(loads, workers, self.keys.cost[rows])
        same_workers = self.current.workers == self.workers
        fits = table is None or self.current.keys.size <= table
        if same_workers and fits and loads.max() > self.loads.max() * (1 + 1e-9):
            return self.unchanged(algorithm, Stop.NO_BETTER)
        return Rebalance(
            algorithm, new_table, self._migration(rows, workers), self.loads_before, loads,
            self.keys.size, float(self.keys.memory.sum()), self.keys.heaviest, stop, remarks,
            self.seconds,
        )  # fmt: skip

    def _table(self, rows: Rows, workers: WorkerIds, limit: int | None) -> RoutingTable:
        kept = self.entries
        kept = kept[~np.isin(kept, rows, assume_unique=True)]
        away = workers != self.home[rows]
        entries = np.concatenate([kept, rows[away]])
        owners = np.concatenate([self.start[kept], workers[away]])
        order = np.argsort(entries)
        bounded = limit is not None and entries.size <= limit
        return RoutingTable(
            self.workers,
            self.keys.keys[entries[order]],
            owners[order].astype(np.int32),
            self.base,
            limit if bounded else None,
        )

    def _migration(self, rows: Rows, workers: WorkerIds) -> Migration:
        if self.start is self.previous:
            return Migration.of(self, rows, workers)
        final = self.start.copy()
        final[rows] = workers
        moved = np.flatnonzero(final != self.previous)
        return Migration.of(self, moved, final[moved])


def loads_of(keys: KeyStatistics, owner: WorkerIds, workers: int) -> Amounts:
    """The cost that each worker gets, with its share of the keys that have no row."""
    loads = keys.rest_of(workers)
    loads += np.bincount(owner, weights=keys.cost, minlength=workers)
    return loads


def rows_in(sorted_keys: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Positions of the `wanted` keys in `sorted_keys`, and which of the wanted were found."""
    if not sorted_keys.size or not wanted.size:
        nothing = np.empty(0, dtype=np.intp)
        return nothing, nothing
    at = np.minimum(np.searchsorted(sorted_keys, wanted), sorted_keys.size - 1)
    found = np.flatnonzero(sorted_keys[at] == wanted)
    return at[found], found
