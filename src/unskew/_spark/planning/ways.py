"""The legal ways to run a group function, each with the seconds that it is expected to take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from unskew._spark.planning.cost_model import FunctionCost, StageCost
from unskew._spark.planning.machine import MORE, Machine, Seconds
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.work import KeySample, KeyWork
from unskew._spark.routing.route import IN_PLACE, Route
from unskew.partitioners import KeyGrouping, Partitioner, PlannedSplit, RoutingTable
from unskew.partitioners.split_planning import plan_split, planned_loads
from unskew.partitioners.whole_planning import plan_whole_keys

PLAIN = "plain"
"""Spark's own shuffle."""
ALIKE = 1.05
"""Forecasts this near tell nothing: then the simplest way is taken."""


class Way(NamedTuple):
    """A way to run the job."""

    name: str
    route: Route
    tasks: int
    """Of the stage that calls the function."""
    seconds: float
    by_spark: bool = False
    """Whether groups go to Python by Spark's own call, each by itself."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is known of a job before it runs."""

    machine: Machine
    work: KeyWork
    cost: FunctionCost
    merge: FunctionCost | None
    """The cost of merging partial results; None if they cannot be merged."""
    partitions: int
    """Of the input."""
    row_bytes: float
    workers: int | None
    """As the user asks for them."""
    shuffle_partitions: int
    settings: PlanSettings
    sample: KeySample | None = None
    """The keys of a few rows, if that is all that is known of them."""
    kind: str | None = None
    """What the function takes, if Spark's own call can call it: "arrow" or "pandas"."""

    @property
    def calls(self) -> Machine:
        """What calls of the function run on: those that wait need no core."""
        at_once = self.machine.cores / max(self.cost.busy, 1e-9)
        return Machine(max(1, min(self.machine.slots, round(at_once))), self.machine.cores)

    @property
    def stage(self) -> StageCost:
        """The costs of Spark's own work on these rows."""
        return StageCost(self.machine, self.row_bytes)

    def ways(self) -> list[Way]:
        """All legal ways, the quickest first; Spark's own shuffle first if it is about as quick."""
        ways = sorted(self._ways(), key=lambda way: way.seconds)
        plain = next(way for way in ways if way.name == PLAIN)
        if plain.seconds > ALIKE * ways[0].seconds:
            return ways
        return [plain, *(way for way in ways if way is not plain)]

    def _ways(self) -> Iterator[Way]:
        yield from self.unplanned()
        if self.merge is None:
            yield self._table(self._counts[0])
        else:
            yield self._split(self._counts[0])

    def unplanned(self) -> Iterator[Way]:
        """Those that need no frequencies of keys."""
        yield self.as_spark()
        for tasks in self._counts:
            yield self._routed("hash", KeyGrouping(tasks), self.work.hashed(tasks))
        if self.merge is not None:
            yield self.in_place()

    @property
    def _counts(self) -> list[int]:
        slots = self.machine.slots
        return [self.workers] if self.workers else [slots, MORE * slots]

    def as_spark(self) -> Way:
        """Spark's own shuffle, which packs small data into few tasks whatever a row costs."""
        most = self.workers or self.shuffle_partitions
        tasks = self.workers or self.stage.packed(self.work.rows, most)
        way = self._routed(PLAIN, KeyGrouping(tasks), self.work.hashed(tasks))
        return way._replace(route=Route.to_spark(tasks))

    def in_place(self) -> Way:
        """Partial results of each input partition."""
        assert self.merge is not None
        parts = self._keys_in_partitions()
        # A key is called for once in each partition that has rows of it.
        calls = max(parts - self.work.groups, 0.0) * self.cost.per_call
        total = self._powered(self.work.total) + calls
        work = self.calls.makespan(np.full(self.partitions, total / self.partitions))
        merging = self.work.groups * self.merge.per_call + parts * self.merge.per_row
        tasks = self.stage.packed(parts, self.shuffle_partitions)
        seconds = (
            self.stage.python(self.work.rows, self.partitions)
            + work
            + self.stage.python(parts, tasks)
            + merging / min(tasks, self.calls.slots)
        )
        return Way(IN_PLACE, Route.in_place(self.partitions), self.partitions, seconds)

    def _keys_in_partitions(self) -> float:
        """How many pairs of a key and an input partition there are."""
        if self.sample is None:
            return self.work.keys_in_parts(self.partitions)
        return self.partitions * self.sample.keys_in(self.work.rows / self.partitions)

    def _powered(self, seconds: float) -> float:
        """Parts of a key take less than the whole where the cost grows faster than the rows."""
        if self.cost.power <= 1:
            return seconds
        heavy = self.cost.of(self.work.key_rows / self.partitions) * self.partitions
        return seconds - float(self.work.seconds.sum()) + float(heavy.sum())

    def _routed(self, name: str, partitioner: Partitioner, loads: Seconds) -> Way:
        tasks = partitioner.workers
        seconds = (
            self.stage.shuffle(self.work.rows, self.partitions)
            + self.stage.python(self.work.rows, tasks)
            + self.calls.makespan(loads)
        )
        way = Way(name, Route.of(partitioner), tasks, seconds)
        if self.kind is None:
            return way
        more = self.stage.trips(self.kind, self.work.rows, self.work.groups, tasks)
        return way if more >= 0 else way._replace(seconds=seconds + more, by_spark=True)

    def _table(self, workers: int) -> Way:
        keys, seconds, rest = self.work.keys, self.work.seconds, self.work.rest_on(workers)
        routes = plan_whole_keys(keys, seconds, rest, **self.settings.of_planners)
        static = routes.static
        assert static is not None  # A table does not learn.
        loads = planned_loads(static.table, keys, seconds, rest, static.arcs)
        return self._routed(RoutingTable.scheme, routes, loads)

    def _split(self, workers: int) -> Way:
        assert self.merge is not None
        keys, seconds, rest = self.work.keys, self.work.seconds, self.work.rest_on(workers)
        table = plan_split(keys, seconds, rest, **self.settings.of_planners)
        loads = planned_loads(table, keys, seconds, rest)
        split = PlannedSplit.of(workers, table)
        way = replace(self, kind=None)._routed(PlannedSplit.scheme, split, loads)
        cut = float(table.parts[table.parts > 1].sum())
        # Results of whole keys pass the second stage too, a row or more for each key.
        second = self.stage.python(self.work.groups + cut, 1) + cut * self.merge.per_call
        return way._replace(seconds=way.seconds + second)
