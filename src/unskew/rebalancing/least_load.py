"""What the planners of paper 002 share: the base class and the phases clean, prepare, assign."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from unskew.checking import check_fields, check_number
from unskew.errors import ParameterError
from unskew.kernels import WorkerIds
from unskew.kernels.least_load_fit import fit_least_loaded, group_by_worker
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.assignment import Assignment, Rows
from unskew.rebalancing.rebalance import Rebalance, Stop
from unskew.rebalancing.records import Numbers, Records
from unskew.rebalancing.statistics import Amounts, KeyStatistics


class LeastLoadPlanner(abc.ABC):
    """Base of the planners of paper 002: they share `rebalance` and differ in `plan`.

    Subclasses are frozen dataclasses with `theta`, `r` and, where they use them, `table` and `beta`
    as fields.
    """

    __slots__ = ()
    algorithm: ClassVar[str]

    theta: float
    table: int | None = None
    beta: float = 1.5
    r: int | None

    def __post_init__(self) -> None:
        check_fields(self)
        check_theta(self.theta)
        check_table(self.table)
        check_beta(self.beta)
        check_degree(self.r)

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers."""
        assignment = Assignment.of(keys, current, workers)
        if assignment.settled(self.theta, self.table):
            return assignment.unchanged(self.algorithm)
        return self.plan(Records.of(assignment, self.r))

    @abc.abstractmethod
    def plan(self, records: Records) -> Rebalance:
        """Plan on records built before, of the full key space or compact."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One run of preparing and assigning, after some entries were moved back."""

    fit: LeastLoadFit
    records: Records
    moves: Numbers
    forced: int
    loads: Amounts

    @property
    def entries(self) -> int:
        """The size of the table that the trial ends with."""
        rows, workers, numbers = self.moves.T
        home = self.records.home[rows]
        more = (workers != home).astype(np.int64) - (self.records.start[rows] != home)
        return self.records.entries + int((more * numbers).sum())

    @property
    def migration(self) -> float:
        """The state that the trial moves, by the records."""
        records = self.records
        rows, workers, numbers = self.moves.T
        previous = records.previous[rows]
        more = (workers != previous).astype(np.int64) - (records.start[rows] != previous)
        away = records.start != records.previous
        return float(
            (records.memory[away] * records.count[away]).sum()
            + (more * numbers * records.memory[rows]).sum()
        )

    def placed(self) -> tuple[Rows, WorkerIds]:
        """The keys that the trial touched, and where they went."""
        return self.records.keys_of(self.moves)

    def conclude(self, algorithm: str, theta: float, table: int | None) -> Rebalance:
        """The plan that the trial results in."""
        rows, workers = self.placed()
        return self.records.assignment.conclude(
            algorithm, rows, workers, stop=self._stop(theta), table=table, remarks=self._remarks()
        )

    def _stop(self, theta: float) -> Stop:
        assignment = self.records.assignment
        if assignment.keys.heaviest > assignment.limit(theta):
            return Stop.HEAVY_KEY
        return Stop.NO_ROOM if self.forced else Stop.LEVEL

    def _remarks(self) -> tuple[str, ...]:
        if not self.forced:
            return ()
        return (f"{self.forced} keys fit on no worker and went to the least loaded one",)


@dataclass(frozen=True, slots=True, eq=False)
class LeastLoadFit:
    """Least-load fit decreasing over records that are sorted once and tried many times."""

    records: Records
    limit: float
    heaviest_first: Rows
    given_up_first: Rows

    @classmethod
    def by_cost(cls, records: Records, limit: float) -> Self:
        """Workers give up their heaviest keys first."""
        order = np.argsort(-records.cost)
        return cls(records, limit, order, order)

    @classmethod
    def by_priority(cls, records: Records, limit: float, beta: float) -> Self:
        """Workers give up first the keys of most cost^beta per state."""
        with np.errstate(divide="ignore", invalid="ignore"):
            priority = np.nan_to_num(records.cost**beta / records.memory, nan=0.0)
        return cls(records, limit, np.argsort(-records.cost), np.argsort(-priority))

    def attempt(self, moved_back: int = 0) -> Trial:
        """Move that many entries back, free the overloaded workers, place what was freed."""
        records = self.records.moved_back(moved_back)
        extra = np.arange(self.records.count.size, records.count.size)
        # A record that was split lies behind all others; order among equals is free.
        heaviest_first = _merged(self.heaviest_first, extra, -records.cost)
        given_up_first = np.concatenate([extra, self.given_up_first])
        loads = _loads(records)
        rows, offsets = group_by_worker(given_up_first, records.start, loads.size)
        moves, forced = fit_least_loaded(
            records.cost, records.count, records.start, heaviest_first, rows, offsets,
            self.limit, loads,
        )  # fmt: skip
        return Trial(self, records, moves, forced, loads)


def _loads(records: Records) -> Amounts:
    """The true loads, corrected by the entries that were moved back."""
    loads = records.assignment.loads.copy()
    rows = records.displaced
    if rows.size:
        moved = records.cost[rows] * records.count[rows]
        began = records.assignment.start[records.members[records.first[rows]]]
        np.subtract.at(loads, began, moved)
        np.add.at(loads, records.start[rows], moved)
    return loads


def _merged(order: Rows, extra: Rows, ranks: Amounts) -> Rows:
    if not extra.size:
        return order
    at = np.searchsorted(ranks[order], ranks[extra])
    return np.insert(order, at, extra)


def check_theta(theta: float) -> None:
    """Raise unless theta is a finite number of at least 0."""
    check_number("theta", theta)
    if not 0 <= theta < float("inf"):
        raise ParameterError(f"theta={theta} is not at least 0; 0.08 lets a worker hold 8 % more")


def check_table(table: int | None) -> None:
    """Raise if the table limit is negative."""
    if table is not None and table < 0:
        raise ParameterError(f"table={table} is not at least 0 entries; None sets no limit")


def check_degree(r: int | None) -> None:
    """Raise unless r is None or in 0..30."""
    if r is not None and not 0 <= r <= 30:
        raise ParameterError(f"r={r} is not in 0..30; None plans on the full key space")


def check_beta(beta: float) -> None:
    """Raise unless 0 <= beta <= 16."""
    if not 0 <= beta <= 16:
        raise ParameterError(f"beta={beta} is not in 0..16; the paper uses 1.5")
