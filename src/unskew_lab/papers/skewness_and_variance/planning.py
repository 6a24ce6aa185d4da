"""The cells of most figures: planners over intervals whose load shifts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from unskew.metrics import max_over_mean, max_over_min
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import KeyStatistics, Level, MinTable, Mixed, Rebalancer, Stop
from unskew.workloads import FluctuatingKeys
from unskew_lab.papers.specification import Row, Setting, Value

CHOICES = (
    "Keys over a consistent ring; about ten messages a key and interval; state is the number of "
    "messages of the last w intervals. The shift of load (f) is made against the ring's loads, so "
    "that all planners see the same intervals. Means are over all intervals but the first, in "
    "which the table is empty; seconds are those of this machine. Each draw deals the frequencies "
    "to the keys, and hence to the ring, anew."
)


@dataclass(frozen=True, slots=True)
class Load:
    """The intervals that planners are given; the defaults are the paper's."""

    keys: int
    intervals: int
    exponent: float = 0.85
    rate: float = 1.0
    window: int = 5
    workers: int = 15
    seed: int = 42

    def statistics(self) -> Iterator[KeyStatistics]:
        """What is known of the keys after each interval."""
        now = FluctuatingKeys.zipf(self.exponent, self.keys, self.seed)
        owner = ConsistentRing(self.workers).router().route(now.hashes)
        past: list[KeyStatistics] = []
        for _ in range(self.intervals):
            past = [*past, KeyStatistics.of(now.hashes, now.counts(10 * self.keys))][-self.window :]
            yield KeyStatistics.over(past, self.window)
            now = now.shifted(owner, self.rate)


def load(setting: Setting, **changes: int | float) -> Load:
    """The paper's defaults at full size, a fiftieth of the keys when quick, with `changes`.

    Draws are far apart: an interval draws with the seeds that follow.
    """
    defaults: dict[str, int | float] = {
        "keys": 20_000 if setting.quick else 1_000_000,
        "intervals": 6 if setting.quick else 10,
        "seed": 1_000 * setting.seed,
    }
    return Load(**{**defaults, **changes})  # type: ignore[arg-type]


def rivals(theta: float = 0.08, table: int | None = 3000) -> tuple[tuple[str, Rebalancer], ...]:
    """The two planners that the paper compares, and ours."""
    return (
        ("Mixed", Mixed(theta, table)),
        ("MinTable", MinTable(theta, table)),
        ("Level (ours)", Level(theta, table)),
    )


@dataclass(frozen=True, slots=True)
class Planned:
    """Planners over the same intervals, each with the table it made before."""

    load: Load
    planners: tuple[tuple[str, Rebalancer], ...]
    notes: tuple[tuple[str, Value], ...] = field(default=())
    """What the figure varies, for its rows."""

    def measure(self) -> Sequence[Row]:
        """One row per planner: means over the intervals."""
        start = RoutingTable(self.load.workers, base=ConsistentRing(self.load.workers))
        tables = dict.fromkeys((name for name, _ in self.planners), start)
        plans: dict[str, list[dict[str, float]]] = {name: [] for name, _ in self.planners}
        for interval, keys in enumerate(self.load.statistics()):
            for name, planner in self.planners:
                plan = planner.rebalance(keys, tables[name], self.load.workers)
                tables[name] = plan.table
                if interval:
                    plans[name].append(
                        {
                            "seconds": plan.seconds,
                            "migration": plan.migration_fraction,
                            "max_over_mean": max_over_mean(plan.loads),
                            "heaviest": plan.heaviest / plan.mean,
                            "table": plan.table.keys.size,
                            "planned": float(plan.stop is not Stop.SETTLED),
                        }
                    )
        return [self._row(name, plans[name]) for name, _ in self.planners]

    def _row(self, name: str, plans: Sequence[dict[str, float]]) -> Row:
        load = self.load
        made = [plan for plan in plans if plan["planned"]] or plans
        return {
            **dict(self.notes),
            "planner": name,
            "keys": load.keys,
            "workers": load.workers,
            "rate": load.rate,
            "window": load.window,
            "plans": int(sum(plan["planned"] for plan in plans)),
            "seconds": float(np.mean([plan["seconds"] for plan in made])),
            "migration": float(np.mean([plan["migration"] for plan in plans])),
            "max_over_mean": float(np.mean([plan["max_over_mean"] for plan in plans])),
            "heaviest": float(np.mean([plan["heaviest"] for plan in plans])),
            "table": plans[-1]["table"],
        }


@dataclass(frozen=True, slots=True)
class Hashed:
    """The loads that a ring alone makes, with the shares dealt to the keys again each time."""

    keys: int
    workers: int
    deals: int
    exponent: float = 0.85
    seed: int = 42

    def measure(self) -> Sequence[Row]:
        """One row: means over the deals."""
        ring = ConsistentRing(self.workers).router()
        loads = []
        for deal in range(self.deals):
            keys = FluctuatingKeys.zipf(self.exponent, self.keys, self.seed + deal)
            owner = ring.route(keys.hashes)
            loads.append(np.bincount(owner, weights=keys.shares, minlength=self.workers))
        return [
            {
                "keys": self.keys,
                "workers": self.workers,
                "max_over_min": float(np.mean([max_over_min(each) for each in loads])),
                "max_over_mean": float(np.mean([max_over_mean(each) for each in loads])),
                "min_over_mean": float(np.mean([each.min() / each.mean() for each in loads])),
            }
        ]
