"""The search behind `Level`: shed, exchange, trim the table, take back what need not move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unskew.kernels import WorkerIds
from unskew.kernels.exchanging import exchange
from unskew.kernels.least_load_fit import give_heaviest_to_least_loaded, group_by_worker
from unskew.kernels.shedding import Ledger, send_back, shed_excess
from unskew.rebalancing.assignment import Assignment, loads_of
from unskew.rebalancing.least_load import LeastLoadFit
from unskew.rebalancing.mixed import fitting_table
from unskew.rebalancing.records import Records
from unskew.rebalancing.statistics import Amounts

_EXCHANGED_KEYS = 4096
"""Exchanges look at pairs of keys, so only at the heaviest so many."""
_ENTRIES_PER_STATE = 10
"""A full table is worth this part of all state; so much more state may move to spare entries."""
_DEARER = 8.0
"""An entry gets so much dearer each time the table overflows."""
_ROUNDS = 6
_PRIORITY = 1.5
"""The weight of the cost that Mixed uses."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate assignment: the owner of every key, and the loads that follow.

    `cut` says that it had more entries than fit, and that some of them were given up.
    """

    owner: WorkerIds
    loads: Amounts
    cut: bool = False

    @property
    def top(self) -> float:
        """The highest load."""
        return float(self.loads.max())


@dataclass(frozen=True, slots=True, eq=False)
class LevelSearch:
    """One planning run: where keys start, how high workers may go, how many entries fit."""

    assignment: Assignment
    limit: float
    table: int | None

    def best(self) -> Candidate:
        """The best assignment found."""
        entry = self._entry_price()
        found = self._attempt(entry, moved_back=0)
        for _ in range(_ROUNDS):
            excess = self._too_many(found)
            if excess <= 0:
                break
            entry *= _DEARER
            found = self._attempt(entry, moved_back=excess)
        if self._rank(found)[:2] > (0, self.limit):
            found = min([found, *self._others(entry)], key=self._rank)
        return self._cut(found)

    def _rank(self, found: Candidate) -> tuple[int, float, float]:
        """Fewest entries too many, then least above the limit, then least state moved."""
        top = found.top if found.top > self.limit * (1 + 1e-9) else self.limit
        moved = found.owner != self.assignment.previous
        return max(self._too_many(found), 0), top, float(self.assignment.keys.memory[moved].sum())

    def _others(self, entry: float) -> Iterator[Candidate]:
        """Candidates of other algorithms: least-load fit, and every key from scratch."""
        records = Records.of(self.assignment)
        fit = LeastLoadFit.by_cost(records, self.limit)
        by_priority = LeastLoadFit.by_priority(records, self.limit, _PRIORITY)
        for trial in (
            fitting_table(by_priority, self.table),
            fitting_table(fit, self.table),
            fit.attempt(moved_back=records.entries),
        ):
            rows, workers = trial.placed()
            owner = self.assignment.start.copy()
            owner[rows] = workers
            yield self._finished(self._found(owner), entry)
        owner = np.empty(records.cost.size, dtype=np.int32)
        loads = np.full(
            self.assignment.workers, self.assignment.keys.unlisted / self.assignment.workers
        )
        give_heaviest_to_least_loaded(records.cost, fit.heaviest_first, loads, owner)
        yield self._finished(self._found(self._names(owner)[owner]), entry)

    def _found(self, owner: WorkerIds) -> Candidate:
        return Candidate(owner, loads_of(self.assignment.keys, owner, self.assignment.workers))

    def _cut(self, found: Candidate) -> Candidate:
        """Give up the lightest entries until the table fits, whatever that does to the loads."""
        excess = self._too_many(found)
        if excess <= 0:
            return found
        rows = np.flatnonzero(found.owner != self.assignment.home)
        lightest = rows[np.argsort(self.assignment.keys.cost[rows], kind="stable")[:excess]]
        owner = found.owner.copy()
        owner[lightest] = self.assignment.home[lightest]
        return replace(self._found(owner), cut=True)

    def _entry_price(self) -> float:
        keys = self.assignment.keys
        entries = self.table or keys.size or 1
        return max(float(keys.memory.sum()), 1e-300) / (_ENTRIES_PER_STATE * entries)

    def _ledger(self, found: Candidate) -> Ledger:
        keys, now = self.assignment.keys, self.assignment
        return Ledger(keys.cost, keys.memory, now.previous, now.home, found.owner, found.loads)

    def _too_many(self, found: Candidate) -> int:
        if self.table is None:
            return 0
        return int(np.count_nonzero(found.owner != self.assignment.home)) - self.table

    def _attempt(self, entry: float, moved_back: int) -> Candidate:
        found = Candidate(self.assignment.start.copy(), self.assignment.loads.copy())
        if moved_back:
            went = self._trim(found, moved_back, self.limit)
            self._trim(found, moved_back - went, np.inf)
        self._shed(found, entry)
        return self._finished(found, entry)

    def _shed(self, found: Candidate, entry: float) -> None:
        over = found.loads > self.limit * (1 + 1e-12)
        if not over.any():
            return
        now, keys = self.assignment, self.assignment.keys
        shedding = np.argsort(-found.loads, kind="stable")[: np.count_nonzero(over)]
        rows = np.flatnonzero(over[found.owner] & (keys.cost > 0))
        owner = found.owner[rows]
        # The twentieth of an entry makes the heavier of two otherwise equal keys go first.
        price = keys.memory[rows] * (owner == now.previous[rows])
        price += entry * (0.05 + (owner == now.home[rows]))
        order = np.argsort(-keys.cost[rows] / price)
        turn = np.zeros(now.workers, dtype=np.int32)
        turn[shedding] = np.arange(shedding.size)
        grouped, offsets = group_by_worker(order, turn[owner], int(shedding.size))
        shed_excess(
            rows[grouped], offsets, shedding, self._ledger(found), entry,
            self.limit,
        )  # fmt: skip

    def _finished(self, found: Candidate, entry: float) -> Candidate:
        """Exchange what did not fit, trim the table, take back what need not move after all."""
        now, keys = self.assignment, self.assignment.keys
        if found.top > self.limit * (1 + 1e-9):
            heaviest = np.argsort(-keys.cost, kind="stable")[:_EXCHANGED_KEYS]
            exchange(
                heaviest, self._ledger(found), entry, self.limit,
                64 + 4 * now.workers,
            )  # fmt: skip
        self._trim(found, self._too_many(found), self.limit)
        self._take_back(found)
        return found

    def _trim(self, found: Candidate, number: int, limit: float) -> int:
        """Send `number` entries home, those of least state first; return how many fitted."""
        if number <= 0:
            return 0
        now = self.assignment
        rows = np.flatnonzero(found.owner != now.home)
        stays = found.owner[rows] == now.previous[rows]
        price = np.where(stays, 1.0, -1.0 * (now.home[rows] == now.previous[rows]))
        rows = rows[np.argsort(price * now.keys.memory[rows], kind="stable")]
        return send_back(rows, now.home[rows], self._ledger(found), limit, number)

    def _take_back(self, found: Candidate) -> None:
        """Leave keys where their state is, if that fits and needs no further entry."""
        now = self.assignment
        rows = np.flatnonzero((found.owner != now.previous) & (now.previous < now.workers))
        free = (now.previous[rows] == now.home[rows]) | (found.owner[rows] != now.home[rows])
        rows = rows[free]
        rows = rows[np.argsort(-now.keys.memory[rows], kind="stable")]
        send_back(rows, now.previous[rows], self._ledger(found), self.limit, rows.size)

    def _names(self, owner: WorkerIds) -> WorkerIds:
        """A worker for each bin of `owner`, the pair with most state in common first."""
        now, workers = self.assignment, self.assignment.workers
        known = now.previous < workers
        common = np.bincount(
            owner[known].astype(np.int64) * workers + now.previous[known],
            weights=now.keys.memory[known],
            minlength=workers * workers,
        )
        names = np.full(workers, -1, dtype=np.int32)
        given = np.zeros(workers, dtype=bool)
        for pair in np.argsort(-common, kind="stable"):
            bin_number, worker = divmod(int(pair), workers)
            if names[bin_number] < 0 and not given[worker]:
                names[bin_number], given[worker] = worker, True
        return names
