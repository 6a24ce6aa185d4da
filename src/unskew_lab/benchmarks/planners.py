"""The time of a plan: compact against full, ours against readj, and growth with the keys."""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from unskew.metrics import max_over_mean
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import KeyStatistics, Level, Mixed, Readj, Rebalance
from unskew.rebalancing.assignment import Assignment
from unskew.rebalancing.records import Records
from unskew.workloads import FluctuatingKeys
from unskew_lab.benchmarks.measuring import Measurement, best_of

WORKERS = 15
EXPONENT = 0.85
THETA = 0.08
TABLE = 3000
DEGREE = 3
WINDOW = 5
KEYS = 1_000_000
MANY_KEYS = 10_000_000
REPEATS = 5
SIGMAS = (0.3, 0.1, 0.03, 0.02, 0.01)
SECONDS_FOR_A_PLAN = 1.5


@dataclass(frozen=True, slots=True)
class _Case:
    """The statistics of an interval after a shift of load, and the table of the one before."""

    keys: KeyStatistics
    current: RoutingTable

    def arrow(self) -> pa.Table:
        """The statistics as Arrow columns."""
        return pa.table(
            {
                "key": self.keys.keys.view(np.int64),
                "cost": self.keys.cost,
                "memory": self.keys.memory,
            }
        )


def run() -> list[Measurement]:
    """At the defaults of paper 002: a million keys, 15 workers, theta 0.08, 3,000 entries."""
    case = _case(KEYS)
    return [
        *_compact(case),
        *_from_arrow(case),
        *_against_readj(case),
        _growth(case),
        _memory(),
    ]


def _case(keys: int) -> _Case:
    now = FluctuatingKeys.zipf(EXPONENT, keys)
    table = RoutingTable(WORKERS, base=ConsistentRing(WORKERS))
    intervals = []
    for interval in range(WINDOW):
        intervals.append(KeyStatistics.of(now.hashes, now.counts(10 * keys)))
        if interval < WINDOW - 1:
            table = Mixed().rebalance(intervals[-1], table, WORKERS).table
            now = now.shifted(table.router().route(now.hashes), 1.0)
    return _Case(KeyStatistics.over(intervals, WINDOW), table)


def _compact(case: _Case) -> list[Measurement]:
    full_time = best_of(REPEATS, lambda: Mixed().rebalance(case.keys, case.current, WORKERS))
    records = Records.of(Assignment.of(case.keys, case.current, WORKERS), DEGREE)
    compact_time = best_of(REPEATS, lambda: Mixed().plan(records))
    against = "mixed on the full key space"
    return [
        Measurement("mixed on the full key space", full_time, 1.0, "itself", None),
        Measurement(
            "mixed on compact statistics", compact_time, compact_time / full_time, against, 0.1
        ),
    ]


def _from_arrow(case: _Case) -> list[Measurement]:
    columns = case.arrow()
    rows = []
    for name, planner in (("mixed", Mixed()), ("mixed r=3", Mixed(r=DEGREE)), ("level", Level())):

        def plan(planner: Mixed | Level = planner) -> Rebalance:
            return planner.rebalance(KeyStatistics.from_arrow(columns), case.current, WORKERS)

        seconds = best_of(REPEATS, plan)
        ratio = seconds / SECONDS_FOR_A_PLAN
        rows.append(Measurement(f"{name}, Arrow columns to table", seconds, ratio, "1.5 s", 1.0))
    return rows


def _against_readj(case: _Case) -> list[Measurement]:
    """Readj at the sigma that balances best, against planners held to the balance it reaches."""
    best: tuple[float, float, float] | None = None
    for sigma in SIGMAS:
        started = time.perf_counter()
        plan = Readj(sigma=sigma).rebalance(case.keys, case.current, WORKERS)
        found = (max_over_mean(plan.loads), time.perf_counter() - started, sigma)
        best = found if best is None or found < best else best
    assert best is not None
    top, seconds, sigma = best
    against = f"readj, sigma={sigma:g}, max/mean {top:.3f}"
    rows = [Measurement(against, seconds, 1.0, "itself", None)]
    theta = min(THETA, top - 1)
    records = Records.of(Assignment.of(case.keys, case.current, WORKERS), DEGREE)
    rivals: dict[str, Callable[[], Rebalance]] = {
        "level": lambda: Level(theta).rebalance(case.keys, case.current, WORKERS),
        "mixed on compact statistics": lambda: Mixed(theta).plan(records),
    }
    for name, planner in rivals.items():
        reached = max_over_mean(planner().loads)
        took = best_of(REPEATS, planner)
        label = f"{name}, max/mean {reached:.3f}"
        rows.append(Measurement(label, took, took / seconds, against, 1 / 20))
    return rows


def _growth(case: _Case) -> Measurement:
    """Four times the keys, relative to what K log K would take."""
    larger = _case(4 * KEYS)
    times = [
        best_of(REPEATS, partial(Mixed().rebalance, each.keys, each.current, WORKERS))
        for each in (case, larger)
    ]
    expected = 4 * math.log(4 * KEYS) / math.log(KEYS)
    ratio = times[1] / times[0] / expected
    return Measurement("mixed with 4 times the keys", times[1], ratio, "K log K from 1 times", 1.25)


def _memory() -> Measurement:
    """The peak memory of planning relative to the statistics, in a separate process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, ratio = pool.apply(_plan_many)
    return Measurement("mixed, memory at 10 M keys", seconds, ratio, "the key statistics", 8.0)


def _plan_many() -> tuple[float, float]:
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, 2**64, MANY_KEYS, dtype=np.uint64)
    counts = rng.zipf(1.8, MANY_KEYS).astype(np.float64).clip(max=MANY_KEYS)
    keys = KeyStatistics.of(hashes, counts, counts + rng.integers(0, 9, MANY_KEYS))
    del hashes, counts
    size = keys.keys.nbytes + keys.cost.nbytes + keys.memory.nbytes
    small = KeyStatistics.of(np.arange(1000), np.arange(1000))
    Mixed(theta=0.0).rebalance(small, RoutingTable(WORKERS), WORKERS)  # compiles
    before = _resident()
    started = time.perf_counter()
    Mixed().rebalance(keys, RoutingTable(WORKERS), WORKERS)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return seconds, (max(peak - before, 0) + size) / size


def _resident() -> int:
    """The resident memory now; the peak so far would hide what planning adds."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        pages = int(file.read().split()[1])
    return pages * resource.getpagesize()
