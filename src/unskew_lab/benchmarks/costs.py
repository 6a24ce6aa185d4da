"""Maps of rows that differ in cost, against plain Spark with 1 to 64 partitions a slot.

Rows lie in one file for each slot, dealt at random; the ways take turns, and the mean of several
deals counts, since what plain Spark takes depends on where the few heavy rows happen to lie. Work
is slept, so that many slots can work on few cores, and jobs can run side by side.

Each figure is beside the oracle's bound, which is list scheduling of the true costs, the costliest
first, and beside that bound and an empty job of as many tasks. Of the plain ways only those are run
in every deal that may be the best: Spark tells which rows each task would get, and list scheduling
of these tasks when the last one ends. What was run stands beside what was so expected.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unskew_lab.benchmarks.cost_cases import CASES, Case, Costs, in_order
from unskew_lab.benchmarks.cost_figures import OFF, OURS, REMEMBERED, CostFigures
from unskew_lab.benchmarks.measuring import Measurement, best_of
from unskew_lab.session import new_session, spark_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOTS = (8, 16, 32)
ON_REQUEST = 32
"""Too many for most machines: only where a name that is asked for holds the number."""
PLAIN = (1, 4, 8, 16, 64)
"""Partitions for each slot."""
_RUN = 2  # So many plain ways in every deal: those that list scheduling puts first.

Way = Callable[["DataFrame"], "DataFrame"]


def run(names: Iterable[str], seconds: float, deals: int) -> Iterator[Measurement]:
    """Every case on 8 and on 16 slots; where nothing is to be gained, on 16."""
    wanted = list(names) or [""]
    for slots in SLOTS:
        if slots == ON_REQUEST and not any(str(slots) in name for name in wanted):
            continue
        chosen = [
            case
            for case in CASES
            if (case.gain or slots >= 16)
            and any(name in f"{case.name}, {slots} slots" for name in wanted)
        ]
        if not chosen:
            continue
        spark = new_session(slots)
        try:
            for case in chosen:
                with tempfile.TemporaryDirectory() as folder:
                    yield from CostJob(spark, case, slots, seconds, Path(folder)).figures(deals)
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
    found: CostFigures = field(init=False)

    def __post_init__(self) -> None:
        found = CostFigures(self.case, self.slots, self.seconds, self.costs)
        object.__setattr__(self, "found", found)

    @property
    def costs(self) -> Costs:
        """Of the rows."""
        return self.case.draw(self.slots, self.seconds)

    def figures(self, deals: int) -> Iterator[Measurement]:
        """What was measured; if it is cut short, of the deals that were."""
        try:
            self.measure(deals)
        except BaseException:
            yield from self.found.measurements()
            raise
        yield from self.found.measurements()

    def measure(self, deals: int) -> None:
        """Run the ways in turn, deal by deal."""
        import unskew

        with spark_settings(self.spark, {"spark.sql.files.openCostInBytes": str(128 << 20)}):
            dealt = [self.dealt(deal) for deal in range(deals)]
            try:
                self.warm_up(dealt[0])
                self.expect(dealt)
                for deal, rows in enumerate(dealt):
                    for name, way in self.ways(deal).items():
                        self._time(name, way, rows)
            finally:
                unskew.remember(None)

    def warm_up(self, rows: DataFrame) -> None:
        """Start the Python workers, and let them load what plain maps and ours need.

        Sixteen workers that load modules on two cores take as long as some rows.
        """
        import unskew

        unskew.remember(None)
        rows.mapInArrow(idle, "id bigint").count()
        ours = unskew.mapInArrow(rows, idle, "id bigint", cost="cost", scheme="heavy-first")
        assert not isinstance(ours, unskew.streaming.MappedStream)
        ours.count()

    def _time(self, name: str, way: Way, rows: DataFrame) -> None:
        import unskew

        started = time.perf_counter()
        mapped = way(rows)
        assert mapped.count() == self.costs.size
        seconds = time.perf_counter() - started
        if name not in self.found.tasks:
            if name.endswith(" x"):
                tasks = self.slots * int(name.split()[0])
            else:
                tasks = unskew.plan_of(mapped).way.tasks or self.slots
            self.found.empty[tasks] = self.empty(rows, tasks)
            self.found.tasks[name] = tasks
        self.found.times.setdefault(name, []).append(seconds)

    def expect(self, dealt: list[DataFrame]) -> None:
        """What list scheduling says of the plain ways, task by task as Spark would deal them."""
        few, many = self.slots, 16 * self.slots
        empty = {tasks: self.empty(dealt[0], tasks) for tasks in (few, many)}
        self.found.empty.update(empty)
        cores = min(self.slots, os.cpu_count() or self.slots)
        task = max(empty[many] - empty[few], 0.0) / (many - few) * cores
        for more in PLAIN:
            ends = [in_order(self.loads(rows, more) + task, self.slots) for rows in dealt]
            self.found.expected[f"{more} x"] = [end + empty[few] for end in ends]

    def loads(self, rows: DataFrame, more: int) -> Costs:
        """The cost of each task's rows."""
        from pyspark.sql import functions as F

        # With all columns: Spark deals rows by what is in them.
        dealt = self.parted(rows, more).select(F.spark_partition_id().alias("task"), "*")
        found: Any = dealt.toPandas()
        loads = np.bincount(found["task"], found["cost"], more * self.slots)
        return loads.astype(np.float64)

    def parted(self, rows: DataFrame, more: int) -> DataFrame:
        """The rows on so many partitions a slot."""
        return rows if more == 1 else rows.repartition(more * self.slots)

    def empty(self, rows: DataFrame, tasks: int) -> float:
        """The seconds of a job of so many tasks without work."""
        parts = rows if tasks == self.slots else rows.repartition(tasks)
        repeats = 2 if tasks <= 16 * self.slots else 1  # A thousand tasks take half a minute.
        return best_of(repeats, lambda: parts.mapInArrow(idle, "id bigint").count())

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

    def ways(self, deal: int) -> dict[str, Way]:
        """Plain Spark, and ours with exact, remembered and, in some cases, wrong costs."""

        def plain(more: int) -> Way:
            return lambda rows: self.parted(rows, more).mapInArrow(work, "id bigint")

        chosen = {f"{more} x": plain(more) for more in PLAIN}
        if deal or not self.case.off:
            best = self.found.likeliest(_RUN)
            chosen = {name: way for name, way in chosen.items() if name in best}
        memory = self.folder / "memory"
        first = None if deal else memory  # The run that tells all later ones.
        chosen[OURS] = lambda rows: self.by_cost(rows, "cost", first)
        chosen[REMEMBERED] = lambda rows: self.by_cost(rows, "cost", memory)
        if self.case.off:
            chosen[OFF] = lambda rows: self.by_cost(rows, "guess", None)
        return chosen

    def by_cost(self, rows: DataFrame, cost: str, memory: Path | None) -> DataFrame:
        """Our verb as it decides."""
        import unskew

        unskew.remember(memory)
        mapped = unskew.mapInArrow(rows, work, "id bigint", cost=cost, name=self.case.name)
        assert not isinstance(mapped, unskew.streaming.MappedStream)
        return mapped


def work(batches: Iterator[Any]) -> Iterator[Any]:
    """Sleep for what the rows of a batch cost."""
    for batch in batches:
        time.sleep(float(batch.column("cost").to_numpy().sum()))
        yield pa.record_batch({"id": batch.column("id")})


def idle(batches: Iterator[Any]) -> Iterator[Any]:
    """The same without work."""
    for batch in batches:
        yield pa.record_batch({"id": batch.column("id")})
