"""The legal ways to run a group function, each with the seconds that it is expected to take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
ALIKE = 1.1
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


def simplest(ways: Sequence[Way]) -> Way:
    """The first of the ways that are about as quick as the quickest."""
    least = min(way.seconds for way in ways)
    return next(way for way in ways if way.seconds <= ALIKE * least)


def first_simplest(ways: Iterable[Way]) -> list[Way]:
    """The simplest of those that are about as quick as the quickest, then all others by time."""
    ways = list(ways)
    first = simplest(ways)
    others = sorted((way for way in ways if way is not first), key=lambda way: way.seconds)
    return [first, *others]


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
    moves: bool = False
    """Whether every row goes to a worker: none may stay on its input partition."""

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
        """All legal ways, the quickest first; of those that are about as quick, the simplest."""
        return first_simplest(self._ways())

    def _ways(self) -> Iterator[Way]:
        """The simplest first."""
        yield from self.unplanned()
        yield from filter(self._spreads, self._planned())

    def _planned(self) -> Iterator[Way]:
        """Those made from the frequencies of keys."""
        if self.merge is None:
            yield from map(self._table, self._counts)
        else:
            yield from map(self._split, self._counts)
        if self._may_stay:
            yield self._merged_by_table(self._counts[0])

    def unplanned(self) -> Iterator[Way]:
        """Those that need no frequencies of keys."""
        yield from filter(self._spreads, self._by_size())

    def _spreads(self, way: Way) -> bool:
        """Whether no slot goes without a task: a function of unknown cost is not taken for free."""
        asked = self.workers or self.machine.slots
        return self.cost.certain or way.tasks >= min(asked, self.machine.slots)

    def _by_size(self) -> Iterator[Way]:
        yield self.as_spark()
        for tasks in self._counts:
            yield self._routed("hash", KeyGrouping(tasks), self.work.hashed(tasks))
        if self._may_stay:
            tasks = self.stage.packed(self._partial_results, self.shuffle_partitions)
            by_spark = Route.in_place(self.partitions)
            yield self._in_place(IN_PLACE, by_spark, self._merging.hashed(tasks))
            by_hash = KeyGrouping(self._counts[0])
            loads = self._merging.hashed(by_hash.workers)
            yield self._in_place(f"{IN_PLACE}+hash", Route.merged_on(by_hash), loads)

    @property
    def _may_stay(self) -> bool:
        return self.merge is not None and not self.moves

    @property
    def _counts(self) -> list[int]:
        if self.workers:
            return [self.workers]
        tasks = self.stage.level_tasks(self.work.rows, self.shuffle_partitions)
        return [tasks, MORE * tasks]

    def as_spark(self) -> Way:
        """Spark's own shuffle, which packs small data into few tasks whatever a row costs."""
        most = self.workers or self.shuffle_partitions
        tasks = self.workers or self.stage.packed(self.work.rows, most)
        way = self._routed(PLAIN, KeyGrouping(tasks), self.work.hashed(tasks))
        return way._replace(route=Route.to_spark(tasks))

    def _in_place(self, name: str, route: Route, merging: Seconds) -> Way:
        """Partial results of each input partition, and their merge with its load of each task."""
        # A key is called for once in each partition that has rows of it.
        calls = max(self._partial_results - self.work.groups, 0.0) * self.cost.per_call
        total = self._powered(self.work.total) + calls
        work = self.calls.makespan(np.full(self.partitions, total / self.partitions))
        seconds = (
            self.stage.python(self.work.rows, self.partitions)
            + work
            + self.stage.python(self._partial_results, merging.size)
            + self.calls.makespan(merging)
        )
        return Way(name, route, self.partitions, seconds)

    def _merged_by_table(self, workers: int) -> Way:
        """Partial results, each key's on the worker that a table gives it."""
        routes, loads = self._whole(self._merging, workers)
        return self._in_place(f"{IN_PLACE}+table", Route.merged_on(routes), loads)

    @property
    def _merging(self) -> KeyWork:
        """The merge of what the input partitions make."""
        assert self.merge is not None
        work, ranges = self.work, self.work.rest.size
        heavy = work.parts_of(work.key_rows, self.partitions)
        light = max(work.groups - work.keys.size, 0.0)
        parts = max(self._partial_results - float(heavy.sum()), light)
        rest = light * self.merge.per_call + parts * self.merge.per_row
        each = np.full(ranges, rest / ranges)
        return KeyWork(
            self._partial_results, work.groups, work.keys, heavy, self.merge.of(heavy), each
        )

    @property
    def _partial_results(self) -> float:
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
        if self.merge is not None:
            # Each key's result is merged where it is made.
            whole = self.work.groups * float(self.merge.of(np.ones(1))[0])
            way = way._replace(seconds=seconds + whole / min(tasks, self.calls.slots))
        if self.kind is None:
            return way
        more = self.stage.trips(self.kind, self.work.rows, self.work.groups, tasks)
        return way if more >= 0 else way._replace(seconds=way.seconds + more, by_spark=True)

    def _table(self, workers: int) -> Way:
        routes, loads = self._whole(self.work, workers)
        return self._routed(RoutingTable.scheme, routes, loads)

    def _whole(self, work: KeyWork, workers: int) -> tuple[RoutingTable, Seconds]:
        """A table that levels the work of whole keys, and what each worker gets."""
        rest = work.rest_on(workers)
        routes = plan_whole_keys(work.keys, work.seconds, rest, **self.settings.of_planners)
        static = routes.static
        assert static is not None  # A table does not learn.
        loads = planned_loads(static.table, work.keys, work.seconds, rest, static.arcs)
        return routes, loads

    def _split(self, workers: int) -> Way:
        assert self.merge is not None
        keys, seconds, rest = self.work.keys, self.work.seconds, self.work.rest_on(workers)
        table = plan_split(keys, seconds, rest, **self.settings.of_planners)
        loads = planned_loads(table, keys, seconds, rest)
        split = PlannedSplit.of(workers, table)
        way = replace(self, kind=None)._routed(PlannedSplit.scheme, split, loads)
        cut = table.parts[table.parts > 1]
        parts = float(cut.sum())
        # Results of whole keys pass the second stage too, a row or more for each key.
        merging = cut.size * self.merge.per_call + parts * self.merge.per_row
        second = self.stage.python(self.work.groups + parts, 1) + merging
        return way._replace(seconds=way.seconds + second)
