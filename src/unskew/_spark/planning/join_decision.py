"""How a join runs: as asked for, or with "auto" in the way with the least forecast time.

The sizes of both sides, which Spark's plan tells, settle most joins: one side is so small that a
copy for every worker costs next to nothing and levels any keys, or all is so little that balance
could not save what counting keys costs. Keys are counted only where neither is so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import DataFrame

from unskew._spark.planning.choice import whole_keys
from unskew._spark.planning.cost_model import PAIR
from unskew._spark.planning.decision import COSTLY, LATE, NEAR, RANGES
from unskew._spark.planning.input import Input
from unskew._spark.planning.join import COPY, JoinPlan, SideRoute
from unskew._spark.planning.join_counts import JoinCounts, Profiles, share_that_meets
from unskew._spark.planning.join_kinds import JoinKind
from unskew._spark.planning.join_memory import JoinMemory
from unskew._spark.planning.join_ways import PLAIN, SMALL, JoinJob, JoinWay
from unskew._spark.planning.join_work import JoinKeys, SideRows, level
from unskew._spark.planning.key_names import KeyNames
from unskew._spark.planning.machine import Machine, shuffle_partitions
from unskew._spark.planning.notices import tell
from unskew._spark.planning.plan import Plan, WayForecast
from unskew._spark.planning.reasons import expected
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.scheme import requested
from unskew._spark.planning.side_jobs import Allowance, asked_for
from unskew._spark.planning.skew_join import SkewJoin
from unskew._spark.planning.statistics import KeyProfile, profile_keys, together
from unskew._spark.routing.route import Route
from unskew.errors import NeedError
from unskew.partitioners import PlannedSplit

BOTH_SIDES = "frequencies of the keys of both sides"
"""The jobs that count them, in Spark's pages."""
_SIZES = "the sizes that Spark's plan tells"


@dataclass(frozen=True, eq=False)
class JoinQuestion:
    """A join by key that is to be run."""

    left: RoutingRequest
    right: RoutingRequest
    """Of a join that only filters, its distinct keys."""
    kind: JoinKind
    right_input: DataFrame
    """The right side as the user gave it."""
    seconds_per_row: float = 0.0
    """What is done with a row of the result, beside the join."""
    memory: JoinMemory | None = None
    """Where counts are kept from run to run; None if they are not."""

    def decide(self) -> JoinPlan:
        """By the scheme that is asked for, or with "auto" the best one."""
        scheme = self.left.scheme
        if isinstance(scheme, Plan):
            return self._alike(scheme.route, "a plan made before")
        if scheme == COPY:
            return self._copied()
        if not isinstance(scheme, str):
            return self._alike(Route.of(scheme), requested(scheme))
        if scheme == "auto" and self.left.settings.capacities is None:
            plan = self._weighed()
            self._counts.keep()
            return plan
        count = self.left.workers
        with asked_for(self.left.rows.sparkSession, BOTH_SIDES):
            profiles = self._profiles(count)
        if scheme in ("auto", PlannedSplit.scheme):
            way = self._job(self.left.workers, profiles).split(self.left.workers)
            tell(f"join by {way.name}: {way.said}")
            return self._by_way(way, f"requested; {way.said}", profiles)
        routes = whole_keys(together(*profiles), self.left.settings)
        return self._alike(Route.of(routes), "requested")

    def _weighed(self) -> JoinPlan:
        if not all(each.cheap for each in self.inputs):
            return left_to_spark(self.left, COSTLY)
        asked: int | None = self.left.given["workers"]
        session, forecast = self.left.rows.sparkSession, 0.0
        allowance = Allowance(session)
        if all(each.rows is not None for each in self.inputs):
            job = self._job(asked)
            found = self._by_sizes(job, allowance)
            if found is not None:
                return found
            forecast = max(way.seconds for way in job.ways())
        seconds = allowance.left(forecast)
        machine = Machine.of(session)
        profiles = self._counts.profiles(
            lambda: allowance.beside(
                BOTH_SIDES,
                seconds,
                lambda: self._profiles(
                    RANGES, [each.countable(machine, seconds / 2) for each in self.inputs]
                ),
            )
        )
        if profiles is None:
            return left_to_spark(self.left, LATE)
        ways = self._job(asked, profiles).ways()
        return self._best(ways[0], ways, f"{profiles[0].method}, of each side", profiles)

    def _by_sizes(self, job: JoinJob, allowance: Allowance) -> JoinPlan | None:
        """The plan that sizes decide for, and at most a few rows; None if counting keys may pay."""
        ways = job.ways()
        way = settled(job, ways)
        if way is None or way.name != PLAIN or not job.may_explode:
            return way and self._best(way, ways, _SIZES)
        seconds = allowance.left(way.seconds)
        meeting, rows = self._counts.meeting(
            lambda: allowance.beside(
                "a few rows of both sides",
                seconds,
                lambda: share_that_meets(self.left, self.right),
            )
        )
        job = replace(job, meeting=meeting)
        ways = job.ways()
        way = settled(job, ways)
        # Where files are sorted, first rows meet more often than others: they can confirm that a
        # join is small, and no more than that.
        if way is None or way.name != PLAIN:
            return None
        return self._best(way, ways, f"{_SIZES} and {rows}")

    def _best(
        self,
        way: JoinWay,
        ways: Sequence[JoinWay],
        statistics: str,
        profiles: Profiles | None = None,
    ) -> JoinPlan:
        sparks = "Spark's own join"
        why = f"{expected(way, ways, sparks)}, because {_because(way)}"
        tell(f"join by {way.name}: {why}")
        # What was chosen stands first, also where another that needs statistics seems as quick.
        listed = sorted(ways, key=lambda each: (each is not way, each.seconds))
        forecasts = tuple(WayForecast(each.name, each.tasks, each.seconds) for each in listed)
        plan = self._by_way(way, why, profiles)
        return replace(plan, plain=way.name == PLAIN, ways=forecasts, statistics=statistics)

    def _by_way(self, way: JoinWay, why: str, profiles: Profiles | None) -> JoinPlan:
        made = JoinPlan(self.left.key.names, way.left, way.right, why)
        if profiles is None:
            return made
        capacities = self.left.settings.capacities
        hashed = self._job(way.tasks, profiles).hashed(way.tasks)
        return replace(
            made,
            hashed=level(hashed, capacities),
            max_over_mean=level(way.loads, capacities),
            names=KeyNames(self.left.rows, self.left.key),
        )

    def _copied(self) -> JoinPlan:
        """The smaller side on every worker; the right one if that is not known."""
        names = self.kind.may_be_copied
        if not names:
            raise NeedError(
                f"a {self.kind.value} join keeps rows of both sides that have no partner, and "
                f"scheme={COPY!r} would give those of the copied side once for each worker; "
                "'planned-split' and schemes that keep keys whole are legal"
            )
        sizes = dict(zip(("left", "right"), (each.rows for each in self.inputs), strict=True))
        name = min(names, key=lambda each: sizes[each] or float("inf"))
        slots = Machine.of(self.left.rows.sparkSession).slots
        workers = self.left.given["workers"] or slots
        left, right = (SideRoute.copy(workers, name == side) for side in sizes)
        return JoinPlan(self.left.key.names, left, right, "requested")

    @cached_property
    def inputs(self) -> tuple[Input, Input]:
        """What is known of both sides without reading them; Spark plans both for it."""
        return Input.of(self.left.rows), Input.of(self.right_input)

    @cached_property
    def _counts(self) -> JoinCounts:
        here, there = self.inputs
        return JoinCounts(self.memory, (here.rows, there.rows))

    def _profiles(self, ranges: int, shares: Sequence[float | None] = (None, None)) -> Profiles:
        """The frequencies of keys that can have a partner, of all rows or a share of them."""
        left, right = (
            _profile(side, source, ranges, share)
            for side, source, share in zip(
                (self.left, self.right), self.inputs, shares, strict=True
            )
        )
        return left, right

    def _alike(self, route: Route, why: str) -> JoinPlan:
        return JoinPlan(self.left.key.names, SideRoute(route), SideRoute(route), why)

    def _job(self, workers: int | None, profiles: Profiles | None = None) -> JoinJob:
        session = self.left.rows.sparkSession
        machine = Machine.of(session)
        left, right = (
            SideRows(each.rows or 0.0, each.row_bytes, each.partitions or machine.slots)
            for each in self.inputs
        )
        keys = None
        if profiles is not None:
            keys = JoinKeys.of(*profiles)
            left, right = (
                side._replace(rows=float(profile.rows))
                for side, profile in zip((left, right), profiles, strict=True)
            )
        return JoinJob(
            machine,
            left,
            right,
            self.kind,
            workers,
            shuffle_partitions(session),
            SkewJoin.of(session),
            self.left.settings,
            keys,
            PAIR + self.seconds_per_row / machine.pace,
        )


def _because(way: JoinWay) -> str:
    if way.name == PLAIN:
        return "no other way is quicker than Spark's own join"
    if way.said:
        return way.said
    return "one side is small beside the other, and tasks are level whatever the keys are"


def settled(job: JoinJob, ways: Sequence[JoinWay]) -> JoinWay | None:
    """The way that needs no counts, unless these could tell of a better; `ways`: quickest first."""
    plain = next(way for way in ways if way.name == PLAIN)
    copy = next((way for way in ways if way is not plain), None)
    if copy is not None and copy.seconds <= NEAR * plain.seconds:
        return copy
    return plain if job.total <= SMALL or job.most_saved() <= job.asking() else None


def left_to_spark(request: RoutingRequest, why: str) -> JoinPlan:
    """A plan that leaves the join to Spark; the reason is logged."""
    tell(f"plain Spark: {why}")
    side = SideRoute(Route.to_spark(request.workers))
    return JoinPlan(request.key.names, side, side, why, plain=True)


def _profile(side: RoutingRequest, source: Input, ranges: int, share: float | None) -> KeyProfile:
    present = side.rows.select(*side.key.columns).where(~side.key.any_null)
    sample = side.settings.sample or share
    return profile_keys(present, side.key, ranges, sample, source.few(sample))
