"""Maps of rows that differ in cost, against plain Spark with 1 to 64 partitions a slot.

Rows lie in one file for each slot, dealt at random; the ways take turns, and the mean of several
deals counts, since what plain Spark takes depends on where the few heavy rows happen to lie. Work
is slept, so that many slots can work on few cores. The bound is what list scheduling of the true
costs reaches, the costliest first, plus the same job without work.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heapreplace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.session import new_session, spark_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Costs = NDArray[np.float64]

SLOTS = (8, 16)
PLAIN = (1, 4, 8, 16, 64)
"""Partitions for each slot."""
OURS, OFF, REMEMBERED = "by cost", "by cost, off by half", "by cost, remembered"
ROWS = 60
"""For each slot, where single rows are heavy."""


@dataclass(frozen=True)
class Case:
    """Rows with costs, and how much faster than the best plain way they should run."""

    name: str
    draw: Callable[[int, float], Costs]
    """The costs on so many slots with so many seconds of work each."""
    gain: float | None = None
    """At 16 slots or more; None where nothing is to be gained."""


def pareto(heaviest: float) -> Callable[[int, float], Costs]:
    """Pareto 1.1; the heaviest row is a part of a slot's work."""

    def draw(slots: int, seconds: float) -> Costs:
        costs = np.random.default_rng(7).pareto(1.1, ROWS * slots) + 1
        costs = np.sort(costs)[::-1]
        top = heaviest * seconds
        rest = (slots * seconds - top) / costs[1:].sum() * costs[1:]
        return np.append(top, np.minimum(rest, top))

    return draw


def lognormal(slots: int, seconds: float) -> Costs:
    """Log-normal with a sigma of 2.5; no row takes more than a slot's work."""
    costs = np.random.default_rng(7).lognormal(0.0, 2.5, ROWS * slots)
    scaled: Costs = np.minimum(costs * (slots * seconds / costs.sum()), seconds)
    return scaled


def one_in_hundred(slots: int, seconds: float) -> Costs:
    """1 % of the rows cost 500 times as much as the others."""
    costs = np.where(np.arange(4 * ROWS * slots) % 100 == 0, 500.0, 1.0)
    scaled: Costs = costs * (slots * seconds / costs.sum())
    return scaled


def classes(slots: int, seconds: float) -> Costs:
    """25, 5 or 1 ms: a tenth, three tenths and the rest."""
    cost = np.repeat([0.025, 0.005, 0.001], [1, 3, 6])
    return np.resize(cost, int(slots * seconds / cost.mean()))


def equal(slots: int, seconds: float) -> Costs:
    """All rows alike."""
    return np.full(ROWS * slots, seconds / ROWS)


CASES = (
    Case("pareto, heaviest row 1.0 of a slot", pareto(1.0), 1.3),
    Case("pareto, heaviest row 0.5 of a slot", pareto(0.5), 1.0),
    Case("log-normal, sigma 2.5", lognormal, 1.0),
    Case("1 % of rows cost 500 x", one_in_hundred, 1.0),
    Case("25, 5 or 1 ms", classes),
    Case("equal costs", equal),
)


def run(names: Iterable[str], seconds: float, deals: int) -> Iterator[Measurement]:
    """Every case on 8 and on 16 slots."""
    wanted = list(names) or [""]
    for slots in SLOTS:
        chosen = [
            case for case in CASES if any(name in f"{case.name}, {slots} slots" for name in wanted)
        ]
        if not chosen:
            continue
        spark = new_session(slots)
        try:
            for case in chosen:
                with tempfile.TemporaryDirectory() as folder:
                    job = CostJob(spark, case, slots, seconds, Path(folder))
                    yield from job.measurements(job.times(deals))
        finally:
            spark.stop()


@dataclass(frozen=True)
class CostJob:
    """One case on some slots."""

    spark: SparkSession
    case: Case
    slots: int
    seconds: float
    folder: Path

    @property
    def costs(self) -> Costs:
        """Of the rows."""
        return self.case.draw(self.slots, self.seconds)

    def times(self, deals: int) -> dict[str, list[float]]:
        """The seconds of every way in each deal."""
        import unskew

        found: dict[str, list[float]] = {}
        with spark_settings(self.spark, {"spark.sql.files.openCostInBytes": str(128 << 20)}):
            self.dealt(deals).mapInArrow(idle, "id bigint").count()  # Starts the Python workers.
            try:
                for deal in range(deals):
                    rows = self.dealt(deal)
                    for name, way in self.ways().items():
                        started = time.perf_counter()
                        assert way(rows).count() == self.costs.size
                        found.setdefault(name, []).append(time.perf_counter() - started)
            finally:
                unskew.remember(None)
        return found

    def dealt(self, seed: int) -> DataFrame:
        """The rows in one file a slot, at random, with estimates that err by up to half."""
        drawn = np.random.default_rng(seed)
        costs, folder = self.costs, self.folder / str(seed)
        folder.mkdir()
        guesses = costs * drawn.uniform(0.5, 1.5, costs.size)
        for number, part in enumerate(np.array_split(drawn.permutation(costs.size), self.slots)):
            table = {"id": part.astype(np.int64), "cost": costs[part], "guess": guesses[part]}
            pq.write_table(pa.table(table), folder / f"{number:03}.parquet")
        return self.spark.read.parquet(str(folder))

    def ways(self) -> dict[str, Callable[[DataFrame], DataFrame]]:
        """An empty job, plain Spark, and ours with exact, wrong and remembered costs."""

        def plain(more: int) -> Callable[[DataFrame], DataFrame]:
            def way(rows: DataFrame) -> DataFrame:
                parts = rows if more == 1 else rows.repartition(more * self.slots)
                return parts.mapInArrow(work, "id bigint")

            return way

        return {
            "empty": lambda rows: rows.mapInArrow(idle, "id bigint"),
            **{f"{more} x": plain(more) for more in PLAIN},
            OURS: lambda rows: self.by_cost(rows, "cost", None),
            OFF: lambda rows: self.by_cost(rows, "guess", None),
            REMEMBERED: lambda rows: self.by_cost(rows, "cost", self.folder / "memory"),
        }

    def by_cost(self, rows: DataFrame, cost: str, memory: Path | None) -> DataFrame:
        """Our verb as it decides."""
        import unskew

        unskew.remember(memory)
        mapped = unskew.mapInArrow(rows, work, "id bigint", cost=cost, name=self.case.name)
        assert not isinstance(mapped, unskew.streaming.MappedStream)
        return mapped

    def measurements(self, times: dict[str, list[float]]) -> Iterator[Measurement]:
        """Every way beside the bound, and ours beside the best plain way."""
        mean = {name: float(np.mean(each)) for name, each in times.items()}
        bound = list_scheduled(self.costs, self.slots) + mean.pop("empty")
        what = f"{self.case.name}, {self.slots} slots, {self.seconds:g} s"
        for name, seconds in mean.items():
            target = 1.15 if self.case.gain and not name.endswith("x") else None
            yield Measurement(f"{what}: {name}", seconds, seconds / bound, "the bound", target)
        plain = {name: mean[name] for name in mean if name.endswith("x")}
        best = min(plain, key=lambda name: plain[name])
        for name in (OURS, OFF, REMEMBERED):
            ratio, target = mean[name] / plain[best], self.target(name, bound / plain[best])
            against = f"the best plain way, {best}"
            yield Measurement(f"{what}: {name}", mean[name], ratio, against, target)

    def target(self, name: str, possible: float) -> float:
        """The ratio to the best plain way that is wanted, but never below what is possible."""
        if self.case.gain is None:
            return 1.03
        wanted = self.case.gain if self.slots >= 16 else 1.0
        if name == OFF or self.seconds < 30:
            wanted = min(wanted, 1.2)
        return max(1 / wanted, possible)


def work(batches: Iterator[Any]) -> Iterator[Any]:
    """Sleep for what the rows of a batch cost."""
    for batch in batches:
        time.sleep(float(batch.column("cost").to_numpy().sum()))
        yield pa.record_batch({"id": batch.column("id")})


def idle(batches: Iterator[Any]) -> Iterator[Any]:
    """The same without work."""
    for batch in batches:
        yield pa.record_batch({"id": batch.column("id")})


def list_scheduled(costs: Costs, slots: int) -> float:
    """The end of the last row, each on the first free slot, the costliest first.

    >>> list_scheduled(np.array([1.0, 3.0, 2.0, 2.0]), slots=2)
    4.0
    """
    free = [0.0] * slots
    for cost in np.sort(costs)[::-1].tolist():
        heapreplace(free, free[0] + cost)
    return max(free)
