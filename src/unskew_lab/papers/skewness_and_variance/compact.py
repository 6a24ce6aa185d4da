"""Figure 11: time and load error of planning on compact statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.metrics import max_over_mean
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import Mixed
from unskew.rebalancing.assignment import Assignment
from unskew.rebalancing.discretisation import discretise
from unskew.rebalancing.records import Records
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import lines, numbers, the, where
from unskew_lab.papers.skewness_and_variance.planning import CHOICES, Load, load
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

DEGREES = range(9)
TRIALS = 3


@dataclass(frozen=True, slots=True)
class Compacted:
    """Mixed on the full key space and on compact forms of all degrees, at the last interval."""

    load: Load

    def measure(self) -> Sequence[Row]:
        """One row for the full key space, and one per degree."""
        table = RoutingTable(self.load.workers, base=ConsistentRing(self.load.workers))
        for keys in self.load.statistics():
            assignment = Assignment.of(keys, table, self.load.workers)
            table = Mixed().rebalance(keys, table, self.load.workers).table
        return [self._row(assignment, None), *(self._row(assignment, r) for r in DEGREES)]

    def _row(self, assignment: Assignment, r: int | None) -> Row:
        started = time.perf_counter()
        records = Records.of(assignment, r)
        making = time.perf_counter() - started
        plan = Mixed().plan(records)
        seconds = min(self._seconds(records) for _ in range(TRIALS))
        estimated = assignment.keys.cost if r is None else discretise(assignment.keys.cost, 2**r)[0]
        loads = np.bincount(assignment.start, weights=estimated, minlength=assignment.workers)
        error = float(np.max(np.abs(loads - assignment.loads) / assignment.loads))
        return {
            "form": "full key space" if r is None else "compact",
            "R": 0 if r is None else 2**r,
            "records": int(records.count.size),
            "seconds": seconds,
            "making": making,
            "load_error": error,
            "max_over_mean": max_over_mean(plan.loads),
            "migration": plan.migration_fraction,
        }

    def _seconds(self, records: Records) -> float:
        started = time.perf_counter()
        Mixed().plan(records)
        return time.perf_counter() - started


def _claims(rows: Sequence[Row]) -> list[Claim]:
    full = the(rows, "seconds", form="full key space")
    eight = where(rows, R=8)[0]
    compact = where(rows, form="compact")
    errors, times = numbers(compact, "load_error"), numbers(compact, "seconds")
    tops = numbers(compact, "max_over_mean")
    return [
        Claim(
            "with R=8 a plan is ten times as fast as on the full key space",
            "10 times (0.6 s, 6 s)",
            f"{full / float(eight['seconds']):.1f} times ({float(eight['seconds']) * 1e3:.1f} ms, "
            f"{full * 1e3:.1f} ms; {float(eight['records']):,.0f} records, which workers make and "
            f"send; making all of them here takes {float(eight['making']) * 1e3:.0f} ms)",
            full / float(eight["seconds"]) >= 10,
            value=full / float(eight["seconds"]),
        ),
        Claim(
            "a larger R is faster",
            "falls with R",
            f"{times[0] * 1e3:.1f} ms at R=1, {times[-1] * 1e3:.1f} ms at R=256",
            times[-1] < times[0],
            value=times[-1] / times[0],
        ),
        Claim(
            "the load error stays within 1 % for R=1…256",
            "≤ 1 %",
            f"≤ {max(errors):.2%}, at R=8 {float(eight['load_error']):.3%}; true max/mean of the "
            f"plans ≤ {max(tops):.3f}",
            max(errors) <= 0.01,
            value=max(errors),
        ),
    ]


def _plot(rows: Sequence[Row]) -> Plot:
    compact = where(rows, form="compact")
    return Plot(
        "Skewness and variance, Fig 11: the compact form",
        [
            Panel(
                "planning time", "R", "seconds", lines(compact, "R", "seconds", "form"), log_x=True
            ),
            Panel(
                "load error",
                "R",
                "share of a load",
                lines(compact, "R", "load_error", "form"),
                log_x=True,
            ),
        ],
        columns=2,
        note=f"full key space: {the(rows, 'seconds', form='full key space'):.3f} s",
    )


def _cells(setting: Setting) -> list[Compacted]:
    return [Compacted(load(setting, keys=200_000 if setting.quick else 1_000_000, intervals=3))]


FIGURES = (Figure("11", "The compact form", _cells, _claims, _plot, CHOICES, DRAWS),)
