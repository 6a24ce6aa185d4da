"""The decision of `scheme="auto"` for group functions: the way with the least forecast time.

What it needs to know costs time itself, so that it is asked for in this order, and only as long as
the answer may pay: an earlier run, a pilot that times the function, the frequencies of the keys. An
input that is costly to compute is never computed twice: then only ways that need no statistics are
weighed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from unskew._spark.planning.choice import heaviest, route_for
from unskew._spark.planning.cost_model import ASSUMED, FIRST_PASS, FunctionCost, StageCost
from unskew._spark.planning.hot_key import HotKey
from unskew._spark.planning.input import Input
from unskew._spark.planning.machine import Machine, pace_of, shuffle_partitions
from unskew._spark.planning.notices import tell
from unskew._spark.planning.plan import Plan, WayForecast
from unskew._spark.planning.reasons import because, expected
from unskew._spark.planning.remembered_work import cost_of, profile_of, work_of
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.side_jobs import Allowance, longest, ran_before
from unskew._spark.planning.statistics import FEW, PASS, KeyProfile, profile_keys, together
from unskew._spark.planning.ways import Job, Way, first_simplest
from unskew._spark.planning.work import KeySample, KeyWork
from unskew._spark.planning.work_record import WorkRecord
from unskew._spark.routing.route import Route
from unskew.hashing import hash_ids
from unskew.partitioners import KeyGrouping
from unskew.sketches.hash_ranges import in_ranges

NEAR = 1.15
"""A way this near to what statistics could make possible is taken without them: forecasts of two
ways differ by as much from what they take."""
DRIFTED = 1 / 3
"""If so much of the work was with other keys than in the run before, they will have changed again:
they are counted anew, or a way is taken that depends on none."""
RANGES = 64
"""Into how many ranges of hashes the pass sorts the keys."""


COSTLY = "an input is costly to compute, so that it is read once and its keys are not counted"
LATE = "the keys could not be counted in time"
_PILOT = "pilot of a function"


class Pilot(NamedTuple):
    """What a pilot measured."""

    cost: FunctionCost
    merge: FunctionCost | None
    keys: KeySample | None


class Decision(NamedTuple):
    """The way that is taken."""

    plan: Plan
    by_spark: bool = False
    """Whether groups go to Python by Spark's own call."""
    merging: tuple[float, float] = (0.0, 0.0)
    """Seconds of a merge, for a key and for each partial result of it; 0 if unknown."""


@dataclass(frozen=True, slots=True)
class Question:
    """A group function to be run, and how to time it."""

    request: RoutingRequest
    merges: bool
    pilot: Callable[[float | None, float], Pilot | None] | None = None
    """Times the function, given the estimated number of rows and after how many seconds it is
    cancelled; None if it may not be called."""
    cost: FunctionCost = ASSUMED
    """If no pilot tells it."""
    pilot_rows: int = 1
    """With how many rows a pilot calls it, at most."""
    record: WorkRecord | None = None
    """What an earlier run took."""
    kind: str | None = None
    """What the function takes, if Spark's own call can call it: "arrow" or "pandas"."""
    moves: bool = False
    """Whether rows are to be placed: they may not stay where they are."""
    right: RoutingRequest | None = None
    """The other side of a cogroup."""

    @property
    def workers(self) -> int | None:
        """How many workers the user asks for."""
        count: int | None = self.request.given["workers"]
        return count

    @property
    def _shuffle_partitions(self) -> int:
        return shuffle_partitions(self.request.rows.sparkSession)

    def decide(self) -> Decision:
        """Weigh the legal ways."""
        request = self.request
        session = request.rows.sparkSession
        machine, source = Machine.of(session), self._source()
        if self.record is not None and self.record.rows:
            return self._from_record(machine, source, self.record, Allowance(session))
        if not source.cheap:
            return self._without_statistics(machine, source, COSTLY)
        allowance = Allowance(session)
        pilot = self._piloted(allowance, machine, source)
        machine = replace(machine, pace=pace_of(session))  # It may be the pilot that told.
        found = pilot or Pilot(self.cost, self._usual_merge(self.cost), None)
        ways: list[Way] = []
        if pilot is not None and pilot.keys is not None and source.rows and source.partitions:
            work = _sampled(pilot.keys, source.rows, found.cost)
            job = replace(self._job(machine, source, found, work), sample=pilot.keys)
            ways = first_simplest(job.unplanned())
            if self._settles(ways[0], job):
                return self._planned(ways[0], ways, found, "a sample of the keys")
        return self._from_statistics(machine, source, found, ways, allowance)

    def _piloted(self, allowance: Allowance, machine: Machine, source: Input) -> Pilot | None:
        """What a pilot tells: by being late, how long the function takes at least."""
        if self.pilot is None:
            return None
        seconds = allowance.left(self._expected(machine, source, self.cost))
        slow = replace(
            self.cost,
            per_row=max(seconds / self.pilot_rows, self.cost.per_row),
            source="at least: a pilot was not done in time",
        )
        late: Pilot | None = Pilot(slow, self._usual_merge(slow), None)
        within = longest(self.request.rows.sparkSession, _PILOT, seconds)
        return allowance.beside(_PILOT, seconds, partial(self.pilot, source.rows, within), late)

    def _expected(self, machine: Machine, source: Input, cost: FunctionCost) -> float:
        """The seconds that the job takes at least, whatever its keys are."""
        if not source.rows:
            return 0.0
        stage = StageCost(machine, source.row_bytes)
        moving = stage.shuffle(source.rows, source.partitions or machine.slots)
        moving += stage.python(source.rows, machine.slots)
        # A cost that is not certain would let us take longer, too.
        return moving + (cost.per_row * source.rows / machine.slots if cost.certain else 0.0)

    def _settles(self, best: Way, job: Job) -> bool:
        """Whether frequencies of keys could hardly tell of a better way."""
        level = job.work.total / job.calls.slots
        asking = job.stage.statistics(job.work.rows, job.partitions)
        if job.work.rows > FEW and not ran_before(self.request.rows.sparkSession, PASS):
            asking += FIRST_PASS
        if not self.merges:
            # Of whole keys a few tell nothing of the others: asking is worth it for much work.
            return level < 2 * asking
        # Any other way moves all rows, and knows at best how to level them.
        moved = job.stage.shuffle(job.work.rows, job.partitions)
        least = level + moved + job.stage.python(job.work.rows, job.machine.slots) + asking
        return best.seconds <= NEAR * least

    def _from_record(
        self, machine: Machine, source: Input, record: WorkRecord, allowance: Allowance
    ) -> Decision:
        cost = cost_of(record)
        known = FunctionCost(*record.merging) if any(record.merging) else None
        found = Pilot(cost, known or self._usual_merge(cost), None)
        job = self._job(machine, source, found, work_of(record, RANGES))
        if record.drift <= DRIFTED:
            return self._best(job, found, profile_of(record, RANGES))
        ways = first_simplest(job.unplanned())
        if not source.cheap or self._settles(ways[0], job):
            return self._planned(ways[0], ways, found, "an earlier run, of which keys have changed")
        return self._from_statistics(machine, source, found, ways, allowance)

    def _usual_merge(self, cost: FunctionCost) -> FunctionCost | None:
        """What a merge is taken to cost that nobody has timed: as much as an empty call."""
        return FunctionCost(cost.per_call, 0.0) if self.merges else None

    def _from_statistics(
        self,
        machine: Machine,
        source: Input,
        found: Pilot,
        ways: list[Way],
        allowance: Allowance,
    ) -> Decision:
        """By the frequencies of the keys; if time is over, the first of the other `ways`."""
        least = self._expected(machine, source, found.cost)
        seconds = allowance.left(max(least, ways[0].seconds if ways else 0.0))
        sample = self.request.settings.sample or source.countable(machine, seconds)
        profile = allowance.beside(PASS, seconds, partial(self._profile, sample, source))
        if profile is None and ways:
            return self._planned(ways[0], ways, found, "a sample of the keys")
        if profile is None:
            return self._without_statistics(machine, source, LATE)
        job = self._job(machine, source, found, KeyWork.of(profile, found.cost))
        return self._best(job, found, profile)

    def _source(self) -> Input:
        """All rows that the function gets."""
        source = Input.of(self.request.rows)
        return source if self.right is None else source.beside(Input.of(self.right.rows))

    def _profile(self, sample: float | None, source: Input) -> KeyProfile:
        """The frequencies of keys, those of both sides added up."""
        sides = [self.request] if self.right is None else [self.request, self.right]
        few = source.few(sample)
        return reduce(
            together, (profile_keys(each.rows, each.key, RANGES, sample, few) for each in sides)
        )

    def _without_statistics(self, machine: Machine, source: Input, why: str) -> Decision:
        """No pass tells of the keys."""
        if self.merges and (source.partitions or machine.slots) >= machine.slots:
            route = Route.in_place(self.workers or machine.slots)
        else:
            # Spark would pack few rows into one task, however long the function takes.
            tasks = self.workers or source.tasks_on(machine, self._shuffle_partitions)
            route = Route.of(KeyGrouping(tasks))
        tell(f"{route.name}: {why}")
        return Decision(self.request.made(route, why))

    def _job(self, machine: Machine, source: Input, found: Pilot, work: KeyWork) -> Job:
        return Job(
            machine,
            work,
            found.cost,
            found.merge,
            source.partitions or machine.slots,
            source.row_bytes,
            self.workers,
            self._shuffle_partitions,
            self.request.settings,
            kind=self.kind,
            moves=self.moves,
        )

    def counted(self, machine: Machine, source: Input, profile: KeyProfile) -> Decision:
        """The quickest way for keys that were counted, if nothing tells more of the function."""
        found = Pilot(self.cost, self._usual_merge(self.cost), None)
        return self._best(
            self._job(machine, source, found, KeyWork.of(profile, self.cost)), found, profile
        )

    def _best(self, job: Job, found: Pilot, profile: KeyProfile) -> Decision:
        """The quickest way, for keys that were counted."""
        ways = job.ways()
        decision = self._planned(ways[0], ways, found, profile.method, profile)
        if self.merges:
            return decision
        work = job.work
        hot = HotKey.among(work.keys, work.seconds, work.total, job.machine.slots)
        return decision._replace(plan=replace(decision.plan, hot=hot))

    def _planned(
        self,
        way: Way,
        ways: list[Way],
        found: Pilot,
        statistics: str,
        profile: KeyProfile | None = None,
    ) -> Decision:
        why = f"{expected(way, ways)}, because {because(way, ways)}"
        if way.by_spark:
            why += "; Spark's own call, as groups are large"
        why += f"; {found.cost}"
        tell(f"{way.name}: {why}")
        request, route = self.request, way.route
        if profile is not None and not (route.plain or route.stays):
            loads = in_ranges(profile.loads, route.workers)
            counted = replace(profile, workers=route.workers, loads=loads)
            route, _ = route_for(request.rows, request.key, counted, route.partitioner, None)
        plan = request.made(route, why, None if profile is None else profile.rows, None, statistics)
        if profile is not None:
            plan = replace(plan, heavy=heaviest(profile, route.partitioner))
        forecasts = tuple(WayForecast(each.name, each.tasks, each.seconds) for each in ways)
        merge = found.merge
        merging = (0.0, 0.0) if merge is None else (merge.per_call, merge.per_row)
        return Decision(replace(plan, ways=forecasts), way.by_spark, merging)


def _sampled(sample: KeySample, rows: float, cost: FunctionCost) -> KeyWork:
    """The work of keys of which only a sample is known: their hashes are made up."""
    heavy = rows * np.array(sample.heavy)
    light = max(sample.keys_in(rows) - heavy.size, 0.0)
    each = max(rows - float(heavy.sum()), 0.0) / max(light, 1.0)
    counts, rest = heavy, light * float(cost.of(np.array([each]))[0])
    if light <= RANGES:
        # Few keys are not level by their hash, even if they are alike.
        counts, rest = np.append(heavy, np.full(round(light), each)), 0.0
    keys = hash_ids(np.arange(counts.size))
    ranges = np.full(RANGES, rest / RANGES)
    return KeyWork(rows, heavy.size + light, keys, counts, cost.of(counts), ranges)
