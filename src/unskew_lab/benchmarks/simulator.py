"""The speed of simulated queues in messages per second of one core, drawing included."""

from __future__ import annotations

import math
import time

from unskew.partitioners import ConsistentGrouping, PartialKey, Partitioner
from unskew.simulator.queueing import simulate_queueing
from unskew.workloads import ZipfStream
from unskew_lab.benchmarks.measuring import Measurement

MESSAGES = 10_000_000
KEYS = 100_000
PER_SECOND = 5e6
REPEATS = 3
CACHES = 2.0
"""More keys mean no more work per message, but tables that do not fit into a cache."""


def run() -> list[Measurement]:
    """Speed at 100 workers, then over workers and over keys."""
    rows = []
    for scheme in (PartialKey(100), ConsistentGrouping(100)):
        seconds = _best(scheme, KEYS, MESSAGES)
        ratio = seconds / (MESSAGES / PER_SECOND)
        rows.append(Measurement(f"{scheme.scheme} n=100", seconds, ratio, "5M messages/s", 1.0))
    for kind in (PartialKey, ConsistentGrouping):
        rows += _over_workers(kind)
    rows += _over_keys()
    return rows


def _over_workers(kind: type[PartialKey] | type[ConsistentGrouping]) -> list[Measurement]:
    """Time over workers; it may grow like log(workers)."""
    rows: list[Measurement] = []
    for workers in (10, 100, 1000, 10_000):
        seconds = _best(kind(workers), KEYS, MESSAGES // 2)
        ratio = seconds / rows[0].seconds if rows else 1.0
        allowed = math.log(workers) / math.log(10)
        name = f"{kind.scheme} n={workers}, {MESSAGES // 2:,} messages"
        rows.append(Measurement(name, seconds, ratio, f"{kind.scheme} n=10", allowed))
    return rows


def _over_keys() -> list[Measurement]:
    rows: list[Measurement] = []
    for keys in (10_000, 100_000, 1_000_000):
        seconds = _best(PartialKey(100), keys, MESSAGES // 2)
        ratio = seconds / rows[0].seconds if rows else 1.0
        rows.append(Measurement(f"pkg n=100, {keys:,} keys", seconds, ratio, "10,000 keys", CACHES))
    return rows


def _best(scheme: Partitioner, keys: int, messages: int) -> float:
    """The fewest seconds of CPU time: other processes on the machine do not count."""
    simulate_queueing(ZipfStream(1.0, 100, 1000).chunks(), scheme)  # compiles
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        simulate_queueing(ZipfStream(1.0, keys, messages).chunks(), scheme)
        times.append(time.process_time() - started)
    return min(times)
