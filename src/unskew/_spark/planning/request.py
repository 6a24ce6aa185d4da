"""The one door to a route: a request is checked when it is made, and becomes a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from unskew._spark.frames.keys import KeyColumns, place_of
from unskew._spark.planning.choice import Choice, choose, heaviest, route_for, unmeasured_route
from unskew._spark.planning.hot_key import HotKey
from unskew._spark.planning.input import Input, default_workers
from unskew._spark.planning.key_names import KeyNames
from unskew._spark.planning.notices import tell
from unskew._spark.planning.own_call import NO_KEY
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.scheme import (
    MEASURED,
    Scheme,
    check_need_of,
    check_reports,
    checked_workers,
    requested,
    with_settings,
)
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.side_jobs import asked_for
from unskew._spark.planning.statistics import PASS, KeyProfile, profile_keys
from unskew._spark.routing.route import IN_PLACE, Route
from unskew.errors import KeyTypeError
from unskew.partitioners import KeyGrouping, Need


@dataclass(frozen=True, slots=True, eq=False)
class RoutingRequest:
    """Rows, their key, and how the user wants them routed; all of it is checked.

    Nothing behind it checks scheme, workers or settings again.
    """

    rows: DataFrame
    """The user's rows; behind their columns stand those of a key that is an expression."""
    columns: tuple[str, ...]
    """The user's columns."""
    key: KeyColumns
    need: Need
    scheme: Scheme
    """A name only if a plan is to be made for it, or if rows stay where they are."""
    workers: int
    settings: PlanSettings
    """Of the plan; those of a scheme are in its partitioner."""
    given: Mapping[str, Any]
    """Workers, scheme and settings as the user gave them."""

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        key: str | Sequence[str] | KeyColumns,
        *,
        need: Need,
        workers: int | None = None,
        scheme: Scheme = "auto",
        settings: Mapping[str, Any] | None = None,
        measured: bool = False,
    ) -> RoutingRequest:
        """Check everything that can be checked before a job runs.

        Columns behind the user's are a resolved key's, see `resolve_key`. `measured` if the keys
        are counted whatever the scheme is.
        """
        columns = key if isinstance(key, KeyColumns) else KeyColumns.of(rows, key)
        settings = settings or {}
        count = checked_workers(scheme, workers)
        if count is None:
            count = _one_each(settings.get("capacities")) or default_workers(rows)
        asked, checked = with_settings(scheme, count, settings, measured)
        if isinstance(asked, Plan):
            asked.check_key(columns)
        elif not isinstance(asked, str) and not rows.isStreaming:
            check_reports(asked)
        given = {**settings, "workers": workers, "scheme": scheme}
        own = [
            name for name in rows.columns if not columns.shown or name not in columns.column_names
        ]
        return cls(rows, tuple(own), columns, need, asked, count, checked, given).needing(need)

    def needing(self, need: Need) -> RoutingRequest:
        """The same request for work that needs `need`; raises if its scheme is illegal there."""
        check_need_of(self.scheme, need)
        return replace(self, need=need)

    def on(self, rows: DataFrame) -> RoutingRequest:
        """The same request for other rows with the same key columns."""
        return replace(self, rows=rows)

    def routed_as(self, other: RoutingRequest) -> RoutingRequest:
        """The same rows and key on another request's route."""
        return replace(
            self,
            need=other.need,
            scheme=other.scheme,
            workers=other.workers,
            settings=other.settings,
            given=other.given,
        )

    def by_position(self) -> RoutingRequest:
        """The same request for rows whose columns are named by position.

        No such name clashes with another, has a dot or differs from another in case only.
        """
        names = [f"c{place}" for place in range(len(self.rows.columns))]
        places = [place_of(self.rows, name) for name in self.key.column_names]
        fields = [
            StructField(names[place], field.dataType)
            for place, field in zip(places, self.key.fields, strict=True)
        ]
        key = KeyColumns(tuple(fields), self.key.names)
        return replace(self, rows=self.rows.toDF(*names), key=key)

    def plan(self) -> Plan:
        """Decide; reads the rows once if the scheme is made from the frequencies of the keys."""
        if isinstance(self.scheme, Plan):
            return self.scheme
        if not self.key.fields:
            return self.left_to_spark(NO_KEY)
        if self.scheme == IN_PLACE:
            return self.made(self._in_place(), "requested")
        if self.scheme in MEASURED:
            return self.plan_from(self.profile())
        assert not isinstance(self.scheme, str)
        route = unmeasured_route(self.rows, self.key, self.scheme)
        return self.made(route, requested(self.scheme))

    def plan_from(self, profile: KeyProfile) -> Plan:
        """Decide from statistics."""
        assert not isinstance(self.scheme, Plan)
        choice = (
            choose(profile, self.need, self.scheme, self.settings)
            if isinstance(self.scheme, str)
            else Choice(self.scheme, requested(self.scheme))
        )
        route, expected = route_for(
            self.rows, self.key, profile, choice.partitioner, self.settings.capacities
        )
        tell(f"{choice.partitioner.scheme}: {choice.why}")
        route = replace(route, plain=choice.plain)
        plan = self.made(route, choice.why, profile.rows, expected, profile.method)
        plan = replace(plan, heavy=heaviest(profile, route.partitioner))
        if self.need is not Need.WHOLE_KEY:
            return plan
        hot = HotKey.among(profile.keys, profile.counts, profile.rows, self.workers)
        return replace(plan, hot=hot)

    def profile(self) -> KeyProfile:
        """The statistics of the rows' keys, in one job."""
        sample = self.settings.sample
        few = Input.of(self.rows).few(sample)
        with asked_for(self.rows.sparkSession, PASS):
            return profile_keys(self.rows, self.key, self.workers, sample, few)

    def left_to_spark(self, why: str) -> Plan:
        """A plan that leaves the rows to Spark; the reason is logged."""
        tell(f"plain Spark: {why}")
        return self.made(Route.to_spark(self.workers), why)

    def _in_place(self) -> Route:
        if self.given["workers"] is None:
            return Route.in_place(self.workers)
        return Route.merged_on(KeyGrouping(self.workers))

    def made(self, route: Route, why: str, *measured: Any) -> Plan:
        """The plan of a route."""
        types = tuple(field.dataType.simpleString() for field in self.key.fields)
        plan = Plan(self.key.names, types, route, self.need, why, *measured)
        return replace(plan, names=KeyNames(self.rows, self.key))


def _one_each(capacities: Any) -> int:
    """How many workers have a capacity; 0 if none are given."""
    return len(capacities) if isinstance(capacities, Sized) else 0


def check_same_types(left: KeyColumns, right: KeyColumns) -> None:
    """Raise if the keys' types differ: 1 as INT and as BIGINT have different hashes."""
    for mine, theirs in left.differing_types(right):
        raise KeyTypeError(
            f"column {mine.name!r} is {mine.dataType.simpleString()} on the left and "
            f"{theirs.name!r} is {theirs.dataType.simpleString()} on the right; cast one of them"
        )
