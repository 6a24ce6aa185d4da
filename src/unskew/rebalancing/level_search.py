"""The search behind `Level`: shed, exchange, trim the table, take back what need not move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from unskew.kernels import WorkerIds
from unskew.kernels.exchanging import exchange
from unskew.kernels.least_load_fit import give_heaviest_to_least_loaded, group_by_worker
from unskew.kernels.shedding import Ledger, send_back, shed_excess
from unskew.rebalancing.least_load import LeastLoadFit
from unskew.rebalancing.mixed import fitting_table
from unskew.rebalancing.outset import Outset, loads_of
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
class Found:
    """An assignment: the owner of every key, and the loads that follow.

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

    outset: Outset
    limit: float
    table: int | None

    def best(self) -> Found:
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

    def _rank(self, found: Found) -> tuple[int, float, float]:
        """Fewest entries too many, then least above the limit, then least state moved."""
        top = found.top if found.top > self.limit * (1 + 1e-9) else self.limit
        moved = found.owner != self.outset.previous
        return max(self._too_many(found), 0), top, float(self.outset.keys.memory[moved].sum())

    def _others(self, entry: float) -> Iterator[Found]:
        """What other ways of planning come to: least-load fit, and every key anew."""
        records = Records.of(self.outset)
        fit = LeastLoadFit.by_cost(records, self.limit)
        by_priority = LeastLoadFit.by_priority(records, self.limit, _PRIORITY)
        for trial in (
            fitting_table(by_priority, self.table),
            fitting_table(fit, self.table),
            fit.attempt(moved_back=records.entries),
        ):
            rows, workers = trial.placed()
            owner = self.outset.start.copy()
            owner[rows] = workers
            yield self._finished(self._found(owner), entry)
        owner = np.empty(records.cost.size, dtype=np.int32)
        loads = np.full(self.outset.workers, self.outset.keys.unlisted / self.outset.workers)
        give_heaviest_to_least_loaded(records.cost, fit.heaviest_first, loads, owner)
        yield self._finished(self._found(self._names(owner)[owner]), entry)

    def _found(self, owner: WorkerIds) -> Found:
        return Found(owner, loads_of(self.outset.keys, owner, self.outset.workers))

    def _cut(self, found: Found) -> Found:
        """Give up the lightest entries until the table fits, whatever that does to the loads."""
        excess = self._too_many(found)
        if excess <= 0:
            return found
        rows = np.flatnonzero(found.owner != self.outset.home)
        lightest = rows[np.argsort(self.outset.keys.cost[rows], kind="stable")[:excess]]
        owner = found.owner.copy()
        owner[lightest] = self.outset.home[lightest]
        return replace(self._found(owner), cut=True)

    def _entry_price(self) -> float:
        keys = self.outset.keys
        entries = self.table or keys.size or 1
        return max(float(keys.memory.sum()), 1e-300) / (_ENTRIES_PER_STATE * entries)

    def _ledger(self, found: Found) -> Ledger:
        keys, outset = self.outset.keys, self.outset
        return Ledger(
            keys.cost, keys.memory, outset.previous, outset.home, found.owner, found.loads
        )

    def _too_many(self, found: Found) -> int:
        if self.table is None:
            return 0
        return int(np.count_nonzero(found.owner != self.outset.home)) - self.table

    def _attempt(self, entry: float, moved_back: int) -> Found:
        found = Found(self.outset.start.copy(), self.outset.loads.copy())
        if moved_back:
            went = self._trim(found, moved_back, self.limit)
            self._trim(found, moved_back - went, np.inf)
        self._shed(found, entry)
        return self._finished(found, entry)

    def _shed(self, found: Found, entry: float) -> None:
        over = found.loads > self.limit * (1 + 1e-12)
        if not over.any():
            return
        outset, keys = self.outset, self.outset.keys
        shedding = np.argsort(-found.loads, kind="stable")[: np.count_nonzero(over)]
        rows = np.flatnonzero(over[found.owner] & (keys.cost > 0))
        owner = found.owner[rows]
        # The twentieth of an entry makes the heavier of two otherwise equal keys go first.
        price = keys.memory[rows] * (owner == outset.previous[rows])
        price += entry * (0.05 + (owner == outset.home[rows]))
        order = np.argsort(-keys.cost[rows] / price)
        turn = np.zeros(outset.workers, dtype=np.int32)
        turn[shedding] = np.arange(shedding.size)
        grouped, offsets = group_by_worker(order, turn[owner], int(shedding.size))
        shed_excess(
            rows[grouped].astype(np.int32), offsets, shedding, self._ledger(found), entry,
            self.limit,
        )  # fmt: skip

    def _finished(self, found: Found, entry: float) -> Found:
        """Exchange what did not fit, trim the table, take back what need not move after all."""
        outset, keys = self.outset, self.outset.keys
        if found.top > self.limit * (1 + 1e-9):
            heaviest = np.argsort(-keys.cost, kind="stable")[:_EXCHANGED_KEYS]
            exchange(
                heaviest.astype(np.int32), self._ledger(found), entry, self.limit,
                64 + 4 * outset.workers,
            )  # fmt: skip
        self._trim(found, self._too_many(found), self.limit)
        self._take_back(found)
        return found

    def _trim(self, found: Found, number: int, limit: float) -> int:
        """Send `number` entries home, those of least state first; how many fitted there."""
        if number <= 0:
            return 0
        outset = self.outset
        rows = np.flatnonzero(found.owner != outset.home)
        stays = found.owner[rows] == outset.previous[rows]
        price = np.where(stays, 1.0, -1.0 * (outset.home[rows] == outset.previous[rows]))
        rows = rows[np.argsort(price * outset.keys.memory[rows], kind="stable")]
        return send_back(rows, outset.home[rows], self._ledger(found), limit, number)

    def _take_back(self, found: Found) -> None:
        """Leave keys where their state is, if that fits and needs no entry more."""
        outset = self.outset
        rows = np.flatnonzero((found.owner != outset.previous) & (outset.previous < outset.workers))
        free = (outset.previous[rows] == outset.home[rows]) | (
            found.owner[rows] != outset.home[rows]
        )
        rows = rows[free]
        rows = rows[np.argsort(-outset.keys.memory[rows], kind="stable")]
        send_back(
            rows, outset.previous[rows], self._ledger(found), self.limit, rows.size
        )  # fmt: skip

    def _names(self, owner: WorkerIds) -> WorkerIds:
        """A worker for each bin of `owner`, the pair with most state in common first."""
        outset, workers = self.outset, self.outset.workers
        known = outset.previous < workers
        common = np.bincount(
            owner[known].astype(np.int64) * workers + outset.previous[known],
            weights=outset.keys.memory[known],
            minlength=workers * workers,
        )
        names = np.full(workers, -1, dtype=np.int32)
        given = np.zeros(workers, dtype=bool)
        for pair in np.argsort(-common, kind="stable"):
            bin_number, worker = divmod(int(pair), workers)
            if names[bin_number] < 0 and not given[worker]:
                names[bin_number], given[worker] = worker, True
        return names
