"""The controller: from the workers' reports to the next routing table."""

from __future__ import annotations

import base64
import dataclasses
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew._spark.routing.native import MOST_ENTRIES
from unskew._spark.stateful.intervals import Cost, Interval, States
from unskew._spark.stateful.reports import WorkerReport
from unskew.checking import check_whole
from unskew.errors import ParameterError, UnknownNameError
from unskew.metrics import max_over_mean
from unskew.partitioners import RoutingTable
from unskew.rebalancing import ALL, KeyStatistics, Rebalance, Rebalancer
from unskew.rebalancing.least_load import check_theta

REMEMBERED = 16_384
"""Keys in the controller's memory, the largest first; commits carry it."""

THETA, TABLE_SIZE = 0.08, 3000

MOVE, MOVED_KEY = 5e-3, 100e-6
"""Seconds that a move takes, and each of its keys, until moves have been measured."""

FORGOTTEN = 0.1
"""Part of what the last move told that a batch without moves forgets."""


@dataclass(slots=True)
class Controller:
    """Collects statistics over an interval, checks the balance, and calls the planner if it is off.

    The cost of a key is that of the last interval; its state counts as long as it was touched in
    the last `window` intervals, and beyond that while a table names the key: without its entry the
    state would move home, which no plan had asked for or weighed. A plan must lower the highest
    load by half of `theta` times the mean, or its moves are not worth it: where one key is heavier
    than a worker's share, the balance is off for good. Costs also vary by themselves: a plan must
    forecast a larger gain than the smallest error of the last few forecasts. And the time that it
    saves in the next `payback` batches must be more than what the moves themselves take: as long as
    the last ones, compared with what was expected of them. That is forgotten in time, or one slow
    move would be the last.
    """

    planner: Rebalancer | None
    theta: float
    interval: int
    window: int
    cost: Cost
    payback: int | None = None
    pending: list[list[WorkerReport]] = dataclasses.field(default_factory=list)
    intervals: list[Interval] = dataclasses.field(default_factory=list)
    forecast_imbalance: float | None = None
    """The imbalance that the last plan forecast for the interval that has ended."""
    forecast_errors: list[float] = dataclasses.field(default_factory=list)
    """The forecast errors of the last plans."""
    slowness: float = 1.0
    """The time of the last moves relative to what was expected of them."""
    idle: States = dataclasses.field(default_factory=lambda: States.none())
    """The state of keys that were last touched before the window."""

    def learn(self, reports: Sequence[WorkerReport]) -> bool:
        """Add the reports of a batch; True if it ends an interval."""
        self._learn_moves(reports)
        self.pending.append(list(reports))
        if len(self.pending) < self.interval:
            return False
        together = [report for batch in self.pending for report in batch]
        self.pending = []
        intervals = [*self.intervals, Interval.of(together, self.cost)]
        for past in intervals[: -self.window]:
            self.idle = self.idle.updated(past)
        self.intervals = intervals[-self.window :]
        return True

    def _learn_moves(self, reports: Sequence[WorkerReport]) -> None:
        moved = sum(report.totals.moved_keys for report in reports)
        if moved:
            # Workers hand over side by side.
            took = max(report.totals.move_seconds for report in reports)
            self.slowness = took / _expected(moved)
        else:
            self.slowness += FORGOTTEN * (1.0 - self.slowness)

    def plan(self, table: RoutingTable, workers: int) -> Rebalance | None:
        """A better table, or None to keep `table`."""
        statistics = self.statistics(table)
        if self.planner is None or statistics is None or statistics.total_cost <= 0:
            return None
        same_workers = table.workers == workers
        if same_workers:
            off = _off_balance(statistics, table)
            if self.forecast_imbalance is not None:
                self.forecast_errors = [*self.forecast_errors, off - self.forecast_imbalance][
                    -self.window :
                ]
                self.forecast_imbalance = None
            if off <= self.theta:
                return None
        plan = self.planner.rebalance(statistics, table, workers)
        if same_workers and not self._pays(plan):
            return None
        self.forecast_imbalance = max_over_mean(plan.loads) - 1
        return plan

    def _forget_idle(self, table: RoutingTable) -> None:
        """Leave only keys that `table` names, have state, and are not in the window."""
        self.idle = self.idle.left(table.keys, [each.keys for each in self.intervals])

    def _pays(self, plan: Rebalance) -> bool:
        saved = float(plan.loads_before.max() - plan.loads.max())
        if saved <= max(self.theta / 2, min(self.forecast_errors, default=0.0)) * plan.mean:
            return False
        if self.payback is None:
            return True
        saved *= self.intervals[-1].seconds_per_cost
        takes = self.slowness * _expected(plan.migration.keys.size)
        return saved / self.interval * self.payback > takes

    def statistics(self, table: RoutingTable) -> KeyStatistics | None:
        """The statistics that planners get."""
        if not self.intervals:
            return None
        self._forget_idle(table)
        last = self.intervals[-1]
        told: list[Interval | States] = [*reversed(self.intervals), self.idle]
        keys = np.concatenate([each.keys for each in told])
        memory = np.concatenate([each.memory for each in told])
        keys, first = np.unique(keys, return_index=True)
        cost = np.zeros(keys.size)
        cost[np.searchsorted(keys, last.keys)] = last.cost
        spread = max(0.0, last.unlisted - float(last.rests.sum())) / max(1, last.rests.size)
        rests = last.rests + spread if last.rests.size == table.workers else None
        return KeyStatistics.of(
            keys, cost, memory[first], cost, unlisted=last.unlisted, rests=rests
        )

    def to_json(self) -> dict[str, Any]:
        """The intervals of the window and the idle keys, as a commit carries them."""
        count = REMEMBERED // self.window
        return {
            "idle": {
                "keys": _packed(self.idle.keys, np.uint64),
                "memory": _packed(self.idle.memory, np.float32),
            },
            "intervals": [
                {
                    "keys": _packed(each.keys, np.uint64),
                    "cost": _packed(each.cost, np.float32),
                    "memory": _packed(each.memory, np.float32),
                    "unlisted": each.unlisted,
                    "rests": each.rests.tolist(),
                    "seconds": each.seconds,
                }
                for each in (interval.largest(count) for interval in self.intervals)
            ],
        }

    def restore(self, memory: dict[str, Any]) -> None:
        """Restore what `to_json` gave; an unfinished interval starts over."""
        self.pending = []
        idle = memory.get("idle", {"keys": "", "memory": ""})
        self.idle = States(
            _unpacked(idle["keys"], np.uint64), _unpacked(idle["memory"], np.float32).astype(float)
        )
        self.intervals = [
            Interval(
                _unpacked(each["keys"], np.uint64),
                _unpacked(each["cost"], np.float32).astype(np.float64),
                _unpacked(each["memory"], np.float32).astype(np.float64),
                each["unlisted"],
                np.array(each.get("rests", []), dtype=np.float64),
                each["seconds"],
            )
            for each in memory.get("intervals", [])
        ][-self.window :]


def _expected(moved: int) -> float:
    return MOVE + MOVED_KEY * moved


def planner_and_threshold(
    rebalancer: str | Rebalancer | None, theta: float | None, table_size: int | None
) -> tuple[Rebalancer | None, float]:
    """The planner, and how far off the balance must be before it is called."""
    if theta is not None:
        check_theta(theta)
    if table_size is not None:
        check_whole("table_size", table_size)
        if not 1 <= table_size <= MOST_ENTRIES:
            raise ParameterError(f"table_size={table_size} is not in 1..{MOST_ENTRIES}")
    threshold = THETA if theta is None else theta
    if rebalancer is None:
        return None, threshold
    if isinstance(rebalancer, str):
        size = TABLE_SIZE if table_size is None else table_size
        return _named(rebalancer, {"theta": threshold, "table": size}), threshold
    own: float | None = getattr(rebalancer, "theta", None)
    ignored = {"theta": None if own is None else theta, "table_size": table_size}
    for name, value in ignored.items():
        if value is not None:
            raise ParameterError(
                f"{name}={value} is not allowed with a rebalancer object, which has its own "
                f"settings; remove {name}=, or name the rebalancer (rebalancer='mixed')"
            )
    return rebalancer, threshold if own is None else own


def _named(rebalancer: str, settings: dict[str, float]) -> Rebalancer:
    if rebalancer not in ALL:
        raise UnknownNameError("rebalancer", rebalancer, ALL)
    kind: Any = ALL[rebalancer]
    known = {each.name for each in dataclasses.fields(kind)}
    planner = kind(**{name: value for name, value in settings.items() if name in known})
    return typing.cast(Rebalancer, planner)


def check_settings(interval: int, window: int, cost: str, payback: int | None) -> None:
    """Raise unless every setting is in its range."""
    wholes = {"interval": interval, "window": window, "payback": 1 if payback is None else payback}
    for name, value in wholes.items():
        check_whole(name, value)
        if value < 1:
            raise ParameterError(f"{name}={value} must be at least 1 batch")
    if cost not in typing.get_args(Cost):
        raise ParameterError(f"cost={cost!r} is not one of {', '.join(typing.get_args(Cost))}")


def _off_balance(statistics: KeyStatistics, table: RoutingTable) -> float:
    owners = table.router().route(statistics.keys)
    loads = np.bincount(owners, statistics.cost, table.workers)
    return max_over_mean(loads + statistics.rest_of(table.workers)) - 1


def _packed(values: NDArray[Any], kind: type[np.generic]) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode()


def _unpacked(text: str, kind: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), dtype=kind)
