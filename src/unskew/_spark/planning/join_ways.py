"""The legal ways to run a join, each with the seconds that it is expected to take.

Spark's own; one side copied to every worker and the other dealt, which is level whatever the keys
are; and hot keys split on one side and copied on the other, which needs their frequencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.cost_model import PAIR, ROUTE, STAGE, TASK, StageCost
from unskew._spark.planning.join import COPY, SideRoute
from unskew._spark.planning.join_kinds import JoinKind, SideName
from unskew._spark.planning.join_routes import split_sides
from unskew._spark.planning.join_work import JoinKeys, SideRows
from unskew._spark.planning.machine import MORE, Machine, Seconds
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.skew_join import SkewJoin
from unskew._spark.routing.route import Route
from unskew.partitioners import PlannedSplit
from unskew.partitioners.split_planning import planned_loads
from unskew.sketches.hash_ranges import in_ranges

PLAIN = "plain"
"""Spark's own join."""
TASK_BYTES = 512 << 20
"""What a task of ours gets at most; it bounds what copies cost where sizes are wrong."""
SMALL = 2.0
"""Seconds of one core: a join that takes less is left to Spark without counting keys."""


class JoinWay(NamedTuple):
    """A way to run the join."""

    name: str
    left: SideRoute
    right: SideRoute
    loads: Seconds
    """What each task of the stage that joins takes."""
    seconds: float
    """What the whole join takes."""
    said: str = ""
    """What is done to hot keys, in words."""

    @property
    def tasks(self) -> int:
        """Of the stage that joins."""
        return self.loads.size


@dataclass(frozen=True, slots=True, eq=False)
class JoinJob:
    """What is known of a join before it runs."""

    machine: Machine
    left: SideRows
    right: SideRows
    kind: JoinKind
    workers: int | None
    """As the user asks for them."""
    shuffle_partitions: int
    skew_join: SkewJoin
    settings: PlanSettings
    keys: JoinKeys | None = None
    """None as long as they are not counted."""
    pair: float = PAIR
    """Seconds of a row of the result, as all times of the cost model before the machine's pace."""
    meeting: float | None = None
    """The share of all pairs of rows that have one key, by a few rows; None if none were read."""

    @property
    def total(self) -> float:
        """All work of the tasks that join, on one core."""
        if self.keys is None:
            return self._reading + self._pairs * self.pair
        return float(self._of_keys.sum() + self._rest(1).sum())

    @property
    def may_explode(self) -> bool:
        """Whether rows could meet so often that the result is far larger than either side."""
        return not self.kind.only_filters and self.left.rows * self.right.rows * self.pair > SMALL

    def ways(self) -> list[JoinWay]:
        """All legal ways, the quickest first."""
        ways = [self.as_spark(), *self.copies()]
        if self.keys is not None:
            ways.extend(self.split(tasks) for tasks in self._counts)
        return sorted(ways, key=lambda way: way.seconds)

    def as_spark(self) -> JoinWay:
        """Spark's own join; taken to be level as long as keys are not counted."""
        by_bytes = StageCost(self.machine, row_bytes=1.0)
        packed = by_bytes.packed(self.left.bytes + self.right.bytes, self.shuffle_partitions)
        tasks = self.workers or packed
        loads = np.full(tasks, self.total / tasks)
        if self.keys is not None:
            loads = self.hashed(tasks)
            parts = self._parts(self.keys, tasks)
            loads = np.repeat(loads / parts, parts)
        side = SideRoute(Route.to_spark(tasks))
        rows = {name: each.rows for name, each in self._sides.items()}
        return JoinWay(PLAIN, side, side, loads, self._seconds(loads, rows))

    def copies(self) -> Iterator[JoinWay]:
        """One side on every worker: only a side whose rows need a partner to be in the result."""
        workers = self.workers or self.machine.slots
        if self.left.bytes + self.right.bytes > workers * TASK_BYTES:
            return
        for name in self.kind.may_be_copied:
            copied = self._sides[name]
            more = copied.rows * (workers - 1)
            loads = np.full(workers, (self.total + more * copied.seconds) / workers)
            left, right = (SideRoute.copy(workers, name == side) for side in self._sides)
            seconds = self._routed(loads, {name: more})
            yield JoinWay(f"{COPY} {name}", left, right, loads, seconds)

    def most_saved(self) -> float:
        """What balance can save at most: if one task had all that Spark itself would not split."""
        whole = self._reading
        if self.skew_join.on:
            whole *= min(
                1.0, self.skew_join.threshold / max(self.left.bytes, self.right.bytes, 1.0)
            )
        most = whole + self._pairs * self.pair
        return self.machine.pace * (most - self.total / self.machine.cores)

    def asking(self) -> float:
        """What it takes to count the keys of both sides."""
        return sum(
            self._stage(side).statistics(side.rows, side.partitions)
            for side in self._sides.values()
        )

    def split(self, workers: int) -> JoinWay:
        """Hot keys on several workers, their rows of the other side on all of these."""
        assert self.keys is not None
        rest = self._rest(workers)
        made = split_sides(self.keys, self._of_keys, rest, self.kind, self.settings)
        copied = {"left": made.left.copied, "right": made.right.copied}
        counts = {"left": self.keys.left, "right": self.keys.right}
        copies: dict[SideName, float] = {}
        looking_up = 0.0
        for name, side in self._sides.items():
            entries = np.searchsorted(self.keys.keys, copied[name].keys)
            copies[name] = float(counts[name][entries] @ (copied[name].parts - 1))
            if entries.size and name in self.kind.preserved:
                # Before, the other side is kept, and read for the keys that it has.
                other = self.right if side is self.left else self.left
                looking_up += self._stage(other).shuffle(other.rows, other.partitions)
                looking_up += self.machine.pace * STAGE
        loads = planned_loads(made.table, self.keys.keys, self._of_keys, rest)
        seconds = self._routed(loads, copies) + looking_up
        return JoinWay(PlannedSplit.scheme, made.left, made.right, loads, seconds, str(made))

    def hashed(self, workers: int) -> Seconds:
        """What each worker gets when keys, which are counted, go by their hash."""
        assert self.keys is not None
        return self.keys.hashed(self._of_keys, self._rest(workers))

    def _routed(self, loads: Seconds, copies: Mapping[SideName, float]) -> float:
        """Rows go to workers of ours, so many of each side once more."""
        more = {name: side.rows + copies.get(name, 0.0) for name, side in self._sides.items()}
        routing = sum(more.values()) * ROUTE / self.machine.cores
        return self._seconds(loads, more) + self.machine.pace * routing

    def _seconds(self, loads: Seconds, rows: Mapping[SideName, float]) -> float:
        """So many rows of each side are shuffled, and joined by tasks of these loads."""
        moved = sum(
            self._stage(side).shuffle(rows[name], side.partitions)
            for name, side in self._sides.items()
        )
        # Spark's own work needs a core: slots beyond the cores do not speed it up.
        cores = self.machine.cores
        joined = loads.size * TASK / cores + Machine(cores, cores).makespan(loads)
        return float(moved + self.machine.pace * (STAGE + joined))

    def _parts(self, keys: JoinKeys, tasks: int) -> NDArray[np.int64]:
        """Into how many tasks Spark itself splits each partition, by the bytes of either side."""
        parts = np.ones(tasks, dtype=np.int64)
        for name in self.kind.spark_splits:
            counts, rest = (
                (keys.left, keys.rest_left) if name == "left" else (keys.right, keys.rest_right)
            )
            rows = keys.hashed(counts, in_ranges(rest, tasks))
            parts *= self.skew_join.parts(rows * self._sides[name].row_bytes)
        return parts

    def _stage(self, side: SideRows) -> StageCost:
        return StageCost(self.machine, side.row_bytes)

    @property
    def _reading(self) -> float:
        return self.left.rows * self.left.seconds + self.right.rows * self.right.seconds

    @property
    def _pairs(self) -> float:
        """Rows of the result: in most joins each row of the larger side meets one of the other."""
        met = 0.0 if self.meeting is None else self.meeting * self.left.rows * self.right.rows
        return max(self.left.rows, self.right.rows, met)

    @property
    def _sides(self) -> dict[SideName, SideRows]:
        return {"left": self.left, "right": self.right}

    @property
    def _of_keys(self) -> Seconds:
        assert self.keys is not None
        return self.keys.seconds(self.left.seconds, self.right.seconds, self.pair)

    def _rest(self, workers: int) -> Seconds:
        assert self.keys is not None
        return self.keys.rest(self.left.seconds, self.right.seconds, workers, self.pair)

    @property
    def _counts(self) -> list[int]:
        if self.workers:
            return [self.workers]
        fitting = int(np.ceil((self.left.bytes + self.right.bytes) / TASK_BYTES))
        least = max(self.machine.slots, fitting)
        return [least, MORE * least]
