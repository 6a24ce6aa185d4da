"""The cost of routing and shuffling on Spark, without skew and without work."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from unskew_lab.benchmarks.measuring import Measurement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from unskew import Plan

Job: TypeAlias = "tuple[int, Callable[[], DataFrame]]"
"""Rows in a batch to Python, and what makes the rows on their workers."""

SCHEMES = ("kg", "ring", "routing-table", "planned-split", "pkg", "porc")

ROWS = 8_000_000
KEYS = 100_003
WORKERS = 16
ROUNDS = 4
"""The first is for the compilers; the best of the other three counts."""
NATIVE, ONLINE = 1.2, 1.5
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
BATCHES = (10_000, 100_000)
"""Spark's default for rows in a batch to Python, and what suits a function as cheap as routing."""

AGAINST = "Spark's repartition(n, key)"


def run() -> list[Measurement]:
    """Every way to run a scheme on narrow rows with even keys, against Spark's own repartition."""
    import unskew
    from unskew.testing import local_session

    session = local_session()
    with tempfile.TemporaryDirectory() as folder:
        rows = _narrow_rows(session, Path(folder) / "rows")
        jobs: dict[str, Job] = {AGAINST: (BATCHES[0], lambda: rows.repartition(WORKERS, "key"))}
        for scheme in SCHEMES:
            plan = unskew.plan(_heavy_rows(session), "key", WORKERS, scheme=scheme)
            for batch in BATCHES[:1] if plan.lowering == "native" else BATCHES:
                jobs[_name(plan, batch)] = batch, partial(plan.apply, rows)
        seconds = _best_in_turn(session, jobs)
    baseline = seconds.pop(AGAINST)
    return [
        Measurement(name, time_, time_ / baseline, AGAINST, _target(name))
        for name, time_ in seconds.items()
    ]


def _narrow_rows(session: SparkSession, folder: Path) -> DataFrame:
    from pyspark.sql import functions as F

    key = (F.col("id") % KEYS).alias("key")
    session.range(0, ROWS, 1, 4).select(key, F.col("id").alias("value")).write.parquet(str(folder))
    return session.read.parquet(str(folder))


def _heavy_rows(session: SparkSession) -> DataFrame:
    """Rows to plan on: 1,000 keys, 100 of them a hundred times as heavy as the others."""
    copies = "explode(sequence(1, if(id < 100, 10000, 100))) value"
    return session.range(1000).selectExpr("id key", copies)


def _name(plan: Plan, batch: int) -> str:
    kind = "native" if plan.lowering == "native" else f"online in batches of {batch:,}"
    return f"{plan.partitioner.scheme} on Spark, {kind}"


def _target(name: str) -> float | None:
    if name.endswith("native"):
        return NATIVE
    return ONLINE if name.endswith(f"{BATCHES[-1]:,}") else None


def _best_in_turn(session: SparkSession, jobs: dict[str, Job]) -> dict[str, float]:
    """The best time of each job; jobs alternate, so that a slow minute affects all."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, (batch, job) in jobs.items():
            session.conf.set(BATCH, batch)
            started = time.perf_counter()
            job().write.format("noop").mode("overwrite").save()
            times[name].append(time.perf_counter() - started)
    session.conf.set(BATCH, BATCHES[0])
    return {name: min(taken[1:]) for name, taken in times.items()}
