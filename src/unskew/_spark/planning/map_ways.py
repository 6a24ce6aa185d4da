"""The ways to run a map of rows that differ in cost, each with the seconds that it should take.

Spark starts tasks in the order of their partitions. So the costliest rows get tasks of their own,
ahead of all others, in falling order; the next costly ones are packed into chunks of equal load,
and the many others are dealt over these, or stay on their input partitions. What is alone and how
many tasks there are at least does not depend on the estimates: in a few large tasks, which look as
good on paper, a row that takes twice as long as expected has nothing to make up for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.cost_model import PASS, PYTHON_TASK, StageCost
from unskew._spark.planning.machine import Machine, Seconds
from unskew._spark.planning.row_costs import RowCosts

KNOWN = 8
"""Of the costliest rows so many for each slot are known one by one."""
LINE = 8
"""A row is heavy above such a part of a slot's share of all work."""
CHUNKS = (4, 8)
"""Chunks of light rows for each slot; light rows stay on at least as many partitions."""
PLAIN = (4, 16)
"""Partitions for each slot, as users ask for them who know nothing of costs."""
AS_IS = "as is"
HEAVY_FIRST = "heavy first"


class MapWay(NamedTuple):
    """A way to run the map."""

    name: str
    tasks: int
    seconds: float
    heavy: int = 0
    """Of the costliest rows, those with a task of their own."""
    chunks: int = 0
    """Tasks of all other rows; 0 leaves these on their input partitions."""

    @property
    def by_cost(self) -> bool:
        """Whether the costliest rows are placed by their cost."""
        return self.name == HEAVY_FIRST


@dataclass(frozen=True, slots=True, eq=False)
class MapJob:
    """What is known of a map before it runs; costs are in seconds."""

    machine: Machine
    costs: RowCosts
    partitions: int
    """Of the input."""
    row_bytes: float
    repeats: bool = True
    """Whether the input may be read twice: once for heavy rows, once for all others."""

    def ways(self) -> list[MapWay]:
        """All ways, the quickest first; of those by cost only the best."""
        best = min(self.by_cost(), key=lambda way: way.seconds)
        plain = [self._dealt(more) for more in PLAIN]
        return sorted([self.as_is(), *plain, best], key=lambda way: way.seconds)

    def as_is(self) -> MapWay:
        """Plain Spark."""
        return self._way(AS_IS, self._in_place(0))

    def by_cost(self) -> Iterator[MapWay]:
        """Heavy rows ahead; the others stay where they are, or go to some number of chunks."""
        slots = self.machine.slots
        heavy = int((self.costs.top > self.costs.total / slots / LINE).sum())
        ahead, light = self.costs.top[:heavy], self.costs.top[heavy:]
        if heavy and self.repeats and self.partitions >= min(CHUNKS) * slots:
            yield self._way(HEAVY_FIRST, np.append(ahead, self._in_place(heavy)), heavy)
        for more in CHUNKS:
            _, loads = packed(light, self.costs.rest, more * slots)
            yield self._way(HEAVY_FIRST, np.append(ahead, loads), heavy, more * slots)

    def _dealt(self, more: int) -> MapWay:
        """Rows dealt over so many partitions a slot, whatever they cost: the mean of some deals."""
        chunks, single = more * self.machine.slots, self.costs.top
        level = np.full(chunks, self.costs.rest / chunks)
        homes = (np.random.default_rng(deal).integers(0, chunks, single.size) for deal in range(8))
        ways = [
            self._way(f"{more} x slots", level + _sums(home, single, chunks), 0, chunks)
            for home in homes
        ]
        return ways[0]._replace(seconds=float(np.mean([way.seconds for way in ways])))

    def _in_place(self, heavy: int) -> Seconds:
        """The loads of the input partitions without their heavy rows."""
        single, homes = self.costs.top[heavy:], self.costs.origins[heavy:] % self.partitions
        loads = _sums(homes, single, self.partitions)
        loads[: self.costs.partitions] += self.costs.rests
        return loads

    def _way(self, name: str, loads: Seconds, heavy: int = 0, chunks: int = 0) -> MapWay:
        stage, rows, cores = self._stage, self.costs.rows, self.machine.cores
        # Tasks may wait for what they call; others start meanwhile, as far as there are cores.
        task = self.machine.pace * PYTHON_TASK
        work = self.machine.makespan(loads + task)
        seconds = max(work, loads.size * task / cores) + stage.handed_over(rows)
        if chunks:
            seconds += stage.shuffle(rows, self.partitions)
        elif heavy:
            # The input is read once more, for the heavy rows alone.
            reading = self.machine.pace * rows * PASS / cores
            seconds += stage.shuffle(heavy, self.partitions) + reading
        return MapWay(name, loads.size, seconds, heavy, chunks)

    @property
    def _stage(self) -> StageCost:
        return StageCost(self.machine, self.row_bytes)


def packed(single: Seconds, rest: float, chunks: int) -> tuple[NDArray[np.int64], Seconds]:
    """The chunk of each row, given in falling order of cost, and the loads of the chunks, falling.

    `rest` is the work of all other rows, which are dealt out evenly.

    >>> packed(np.array([3.0, 2.0, 2.0]), rest=1.0, chunks=2)
    (array([1, 0, 0]), array([4.5, 3.5]))
    """
    loads = [(0.0, chunk) for chunk in range(chunks)]
    homes = np.empty(single.size, dtype=np.int64)
    for place, cost in enumerate(single.tolist()):
        load, chunk = loads[0]
        homes[place] = chunk
        heapq.heapreplace(loads, (load + cost, chunk))
    sums = _sums(homes, single, chunks)
    order = np.argsort(-sums, kind="stable")
    return np.argsort(order)[homes], sums[order] + rest / chunks


def _sums(homes: NDArray[np.int64], costs: Seconds, tasks: int) -> Seconds:
    # Without rows numpy would count in whole numbers.
    return np.bincount(homes, costs, tasks).astype(np.float64)
