"""Mergeable work on machines of which one is slow, under several schemes.

A standalone cluster of four machines, one at 30 % speed; work is emulated, so that slots need no
cores. The baseline is the ideal: all work divided by the speed of all slots, plus what the same
batch takes when rows cost nothing.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.pacing import SlowCount

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MACHINES, SLOTS, SPEED = 4, 4, 0.3
KEYS, EXPONENT, ROWS, DRAWN = 2_000, 1.2, 60_000, 4
LEARNING, MEASURED = 2, 2
"""Batches after which a scheme should know which machine is slow, and batches that count."""
CHOOSING = 2 + 3 * 3
"""Batches that "auto" needs: two that are uneven, and three for each strategy that it tries."""
COST = 0.001
WORKERS = MACHINES * SLOTS
SMALL = 5 * WORKERS
SCHEMES: Sequence[tuple[str, str, int]] = (
    ("planned split, a task per slot", "planned-split", WORKERS),
    ("planned split, five tasks per slot", "planned-split", SMALL),
    ("consistent grouping, from reported times", "cg", WORKERS),
)


def run() -> Iterator[Measurement]:
    """Batch times of each scheme, once it has learned, against the ideal."""
    from pyspark.sql import SparkSession

    from unskew.testing import LocalCluster, Machine

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()  # It is not on the cluster.
    machines = [Machine(SLOTS) for _ in range(MACHINES)]
    with LocalCluster(machines) as cluster, tempfile.TemporaryDirectory() as folder:
        session = cluster.session({"spark.sql.adaptive.enabled": "false"})
        cluster.set_speed(0, SPEED)
        yield from _rows(session, folder)
        session.stop()


def _rows(session: SparkSession, folder: str) -> Iterator[Measurement]:
    from unskew.testing import skewed

    for batch in range(DRAWN):
        drawn = skewed(session, ROWS, KEYS, EXPONENT, seed=batch)
        drawn.repartition(WORKERS).write.parquet(f"{folder}/in/{batch}")
    speed, best = SLOTS * (MACHINES - 1 + SPEED), float("inf")
    for number, (name, scheme, workers) in enumerate(SCHEMES):
        place = f"{folder}/{number}"
        fixed = median(_times(session, folder, f"{place}-free", scheme, workers, 0.0))
        ideal = ROWS * COST / speed + fixed
        took = median(_times(session, folder, place, scheme, workers, COST))
        yield Measurement(f"one slow machine: {name}", took, took / ideal, "the ideal", None)
        best = min(best, took)
    chosen = _times(session, folder, f"{folder}/auto", "auto", WORKERS, COST, learning=CHOOSING)
    took = median(chosen)
    yield Measurement(
        "one slow machine: auto, once it has chosen", took, took / best, "the best", None
    )


def _times(
    session: SparkSession,
    folder: str,
    store: str,
    scheme: str,
    workers: int,
    cost: float,
    learning: int = LEARNING,
) -> list[float]:
    """Seconds of each batch after the learning ones."""
    import unskew

    rows = session.read.parquet(f"{folder}/in/0")
    stream: Any = session.readStream.schema(rows.schema).parquet(f"{folder}/in/*")
    grouped = unskew.streaming.groupBy(stream, "key", workers=workers, scheme=scheme)
    batches = grouped.replanned(store, n=SlowCount(cost))
    times = []
    for number in range(learning + (MEASURED if cost else 1)):
        rows = session.read.parquet(f"{folder}/in/{number % DRAWN}")
        began = time.perf_counter()
        batches.process(rows, number)
        times.append(time.perf_counter() - began)
    return times[learning:]
