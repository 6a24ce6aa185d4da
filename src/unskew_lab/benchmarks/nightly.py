"""A job that runs every night on other rows, with a memory: what each night has learned.

Rows differ in cost from key to key, and some of the keys are new every night: a twentieth, or a
fifth. From the second night on the job is planned without another pass over its rows, and levels
seconds; what new keys will take nobody knows.
"""

from __future__ import annotations

import heapq
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import unskew
from unskew.testing import skewed
from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.session import new_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NIGHTS, SLOTS = 5, 8
ROWS, KEYS, EXPONENT = 40_000, 2_000, 0.7
COST = 0.0002
"""Seconds of a row of the cheapest keys; of others two, three and four times as many."""
RENEWED = (20, 5)
"""One of so many keys has another name every night."""
LEVEL, NO_JOBS = 1.1, 0.0
SCHEMA = "key string, n bigint, spent string"


@dataclass(frozen=True)
class Night(Measurement):
    """One run: `ratio` is the work of the longest slot over the mean of all."""

    jobs_beside: int
    """Spark jobs that ran when the verb was called."""
    plan: str


def run() -> Iterator[Measurement]:
    """Five nights of whole keys, then five of a function that merges, for slow and quick drift."""
    session = new_session(SLOTS)
    for renewed in RENEWED:
        for work, merge in (("whole keys", None), ("merged parts", _merging())):
            with tempfile.TemporaryDirectory() as folder:
                job = _Job(session, Path(folder), f"{work}, 1 of {renewed} new", merge, renewed)
                yield from job.nights()


@dataclass(frozen=True)
class _Job:
    """What runs every night."""

    session: SparkSession
    folder: Path
    name: str
    merge: Callable[[pa.Table], pa.Table] | None
    renewed: int

    def nights(self) -> Iterator[Measurement]:
        unskew.remember(str(self.folder / "memory"))
        try:
            nights = [self._run(each) for each in range(1, NIGHTS + 1)]
        finally:
            unskew.remember(None)
        yield from nights
        jobs = max(night.jobs_beside for night in nights[1:])
        what = f"{self.name}: jobs beside each run from night 2 on, at most"
        yield Measurement(what, 0.0, float(jobs), "none", NO_JOBS)

    def _run(self, night: int) -> Night:
        rows = self.rows(night)
        before, began = _jobs(self.session), time.perf_counter()
        grouped = unskew.groupBy(rows, "key", name=self.name)
        made = grouped.applyInArrow(_scoring(), SCHEMA, merge=self.merge)
        beside = _jobs(self.session) - before
        found = made.toArrow()
        return Night(
            name=f"{self.name}, night {night}",
            seconds=time.perf_counter() - began,
            ratio=_longest(found) * SLOTS / sum(_by_task(found).values()),
            against="the mean of all slots",
            target=LEVEL if night > 1 else None,
            jobs_beside=beside,
            plan=unskew.plan_of(made).why,
        )

    def rows(self, night: int) -> DataFrame:
        """Other rows every night, of keys of which some have another name."""
        from pyspark.sql import functions as F

        drawn = skewed(self.session, ROWS, KEYS, EXPONENT, seed=night).select("key", "value")
        turn = F.pmod(F.xxhash64("key"), F.lit(self.renewed))
        name = F.concat_ws("-", "key", F.floor((F.lit(night) + turn) / self.renewed))
        weight = F.pmod(F.xxhash64("key", F.lit(1)), F.lit(4)) + 1
        rows = drawn.select(name.alias("key"), "value", weight.alias("weight"))
        path = str(self.folder / f"night-{night}")
        rows.repartition(SLOTS).write.parquet(path)
        return self.session.read.parquet(path)


def _scoring() -> Callable[[pa.Table], pa.Table]:
    """A function that travels by value: workers need not import the laboratory."""
    cost = COST

    def score(rows: pa.Table) -> pa.Table:
        from pyspark import TaskContext

        seconds = rows.num_rows * cost * rows["weight"][0].as_py()
        time.sleep(seconds)
        context: Any = TaskContext.get()
        spent = [f"{context.partitionId()} {seconds}"]
        return pa.table({"key": rows["key"][:1], "n": [rows.num_rows], "spent": spent})

    return score


def _merging() -> Callable[[pa.Table], pa.Table]:
    """The same for the parts of a key."""

    def merge(parts: pa.Table) -> pa.Table:
        spent = [",".join(parts["spent"].to_pylist())]
        n = [sum(parts["n"].to_pylist())]
        return pa.table({"key": parts["key"][:1], "n": n, "spent": spent})

    return merge


def _by_task(found: pa.Table) -> dict[int, float]:
    """The work of each task, as its calls wrote it down."""
    seconds: defaultdict[int, float] = defaultdict(float)
    for each in found["spent"].to_pylist():
        for part in each.split(","):
            task, spent = part.split()
            seconds[int(task)] += float(spent)
    return seconds


def _longest(found: pa.Table) -> float:
    """The work of the slot that has most: tasks start in the order of their numbers."""
    free = [0.0] * SLOTS
    for _, seconds in sorted(_by_task(found).items()):
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _jobs(session: SparkSession) -> int:
    context: Any = session.sparkContext._jsc
    return int(context.sc().dagScheduler().numTotalJobs())
