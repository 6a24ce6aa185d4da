"""The one door to a route: a request is checked when it is made, and becomes a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField

from unskew._spark.frames.keys import KeyColumns, place_of
from unskew._spark.planning.choice import choose, route_for
from unskew._spark.planning.key_names import KeyNames
from unskew._spark.planning.notices import tell
from unskew._spark.planning.own_call import NO_KEY
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.statistics import KeyProfile, profile_keys, together
from unskew._spark.routing.route import IN_PLACE, Route
from unskew.errors import KeyTypeError, NeedError, ParameterError, ParameterTypeError
from unskew.partitioners import PLANNED, Need, check_legal
from unskew.partitioners.contract import check_workers, need_named
from unskew.partitioners.serialization import build
from unskew.partitioners.split_planning import TABLE

MEASURED = ("auto", *PLANNED)
"""Schemes that are made from the frequencies of the keys."""


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
    scheme: str | Plan
    workers: int
    settings: PlanSettings
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
        scheme: str | Plan = "auto",
        settings: Mapping[str, Any] | None = None,
    ) -> RoutingRequest:
        """Check everything that can be checked before a job runs.

        Columns behind the user's are a resolved key's, see `resolve_key`.
        """
        columns = key if isinstance(key, KeyColumns) else KeyColumns.of(rows, key)
        settings = settings or {}
        if not isinstance(scheme, str | Plan):
            raise ParameterTypeError("scheme", scheme, "the name of a scheme or a Plan")
        if isinstance(scheme, Plan):
            _check_workers_of(scheme, workers)
            _check_settings_of(scheme, settings)
            scheme.check_key(columns)
        given = {**settings, "workers": workers, "scheme": scheme}
        count = _workers(rows, scheme, workers)
        checked = PlanSettings.of({} if isinstance(scheme, Plan) else settings, count)
        own = [
            name for name in rows.columns if not columns.shown or name not in columns.column_names
        ]
        return cls(rows, tuple(own), columns, need, scheme, count, checked, given).needing(need)

    def needing(self, need: Need) -> RoutingRequest:
        """The same request for work that needs `need`; raises if its scheme is illegal there."""
        if isinstance(self.scheme, Plan):
            _check_need_of(self.scheme, need)
        elif self.scheme == IN_PLACE:
            _check_parts_may_merge(need)
        elif self.scheme != "auto":
            check_legal(self.scheme, need)
        return replace(self, need=need)

    def on(self, rows: DataFrame) -> RoutingRequest:
        """The same request for other rows with the same key columns."""
        return replace(self, rows=rows)

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
            return self.made(Route.in_place(self.workers), "requested")
        if self.scheme not in MEASURED:
            return self._unmeasured(self.scheme)
        return self.plan_from(self.profile())

    def plan_from(self, profile: KeyProfile) -> Plan:
        """Decide from statistics."""
        assert isinstance(self.scheme, str)
        choice = choose(profile, self.need, self.scheme, self.settings)
        route, expected = route_for(
            self.rows, self.key, profile, choice.partitioner, self.settings.capacities
        )
        tell(f"{choice.partitioner.scheme}: {choice.why}")
        route = replace(route, plain=choice.plain)
        return self.made(route, choice.why, profile.rows, expected, profile.method)

    def profile(self) -> KeyProfile:
        """The statistics of the rows' keys, in one job."""
        return profile_keys(self.rows, self.key, self.workers, self.settings.sample)

    def left_to_spark(self, why: str) -> Plan:
        """A plan that leaves the rows to Spark; the reason is logged."""
        tell(f"plain Spark: {why}")
        return self.made(Route.to_spark(self.workers), why)

    def _unmeasured(self, scheme: str) -> Plan:
        return self.made(Route.of(build(scheme, self.workers)), "requested")

    def made(self, route: Route, why: str, *measured: Any) -> Plan:
        """The plan of a route."""
        types = tuple(field.dataType.simpleString() for field in self.key.fields)
        plan = Plan(self.key.names, types, route, self.need, why, *measured)
        return replace(plan, names=KeyNames(self.rows, self.key))


def plan_pair(left: RoutingRequest, right: RoutingRequest) -> Plan:
    """One plan for whole keys of both sides, made from the rows of both."""
    check_same_types(left.key, right.key)
    if isinstance(left.scheme, Plan) or left.scheme not in MEASURED or not left.key.fields:
        return left.plan()
    # The right side was given no workers or settings of its own.
    right = replace(right, workers=left.workers, settings=left.settings)
    return left.plan_from(together(left.profile(), right.profile()))


def check_same_types(left: KeyColumns, right: KeyColumns) -> None:
    """Raise if the keys' types differ: 1 as INT and as BIGINT have different hashes."""
    for mine, theirs in left.differing_types(right):
        raise KeyTypeError(
            f"column {mine.name!r} is {mine.dataType.simpleString()} on the left and "
            f"{theirs.name!r} is {theirs.dataType.simpleString()} on the right; cast one of them"
        )


def plan(
    rows: DataFrame,
    key: str | Sequence[str],
    workers: int | None = None,
    *,
    need: Need | str = Need.MERGEABLE,
    scheme: str = "auto",
    capacities: Sequence[float] | None = None,
    epsilon: float = 0.005,
    table: int = TABLE,
    sample: float | None = None,
) -> Plan:
    """Measure the keys of `rows` in one pass and decide how to spread them over `workers`.

    Parameters
    ----------
    rows : DataFrame
        The rows, or others with keys like theirs.
    key : str or list of str
        The column or columns that the rows are grouped by.
    workers : int, optional
        How many partitions there will be; the shuffle partitions of the session if not given.
    need : Need or {"whole-key", "mergeable", "any-row"}
        What the work needs of the rows of one key; schemes that do not guarantee it are refused.
    scheme : str
        The name of a scheme; "auto" picks by need and skew, and gives the reason.
    capacities : list of float, optional
        The relative speed of each worker; all alike if not given.
    epsilon : float
        By how much a worker may exceed its fair share.
    table : int
        The most keys that are routed by name; all others go by their hash.
    sample : float, optional
        Share of the rows to read, above 0 and at most 1; all if not given.

    Returns
    -------
    Plan
        With `explain()`, `apply(rows)`, `with_worker(rows)`, `to_json()`.
    """
    settings = {"capacities": capacities, "epsilon": epsilon, "table": table, "sample": sample}
    request = RoutingRequest.of(
        rows, key, need=need_named(need), workers=workers, scheme=scheme, settings=settings
    )
    if request.scheme == IN_PLACE:
        return request.plan()
    # A plan always has a forecast, so that every scheme is measured.
    return request.plan_from(request.profile())


def _workers(rows: DataFrame, scheme: str | Plan, workers: int | None) -> int:
    if isinstance(scheme, Plan):
        return scheme.workers
    if workers is None:
        return int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    check_workers(workers)
    return workers


def _check_workers_of(made: Plan, workers: int | None) -> None:
    if workers not in (None, made.workers):
        raise ParameterError(f"workers={workers}, but the plan has workers={made.workers}")


def _check_settings_of(made: Plan, settings: Mapping[str, Any]) -> None:
    for name in settings:
        if name != "table":
            raise ParameterError(
                f"{name} shapes a plan, and this plan is complete; give it to plan(...)"
            )
    entries = getattr(made.partitioner, "keys", ())
    if len(entries) > settings.get("table", len(entries)):
        raise ParameterError(
            f"the plan names {len(entries)} keys, more than table={settings['table']}; "
            f"make one with plan(..., table={settings['table']})"
        )


def _check_parts_may_merge(need: Need) -> None:
    if need is Need.WHOLE_KEY:
        raise NeedError(
            f"{IN_PLACE} makes partial results of each input partition, and this work needs "
            f"{need.value}; give applyInArrow or applyInPandas a merge function"
        )


def _check_need_of(made: Plan, need: Need) -> None:
    if made.route.stays:
        _check_parts_may_merge(need)
    elif not made.partitioner.need.keeps(need):
        raise NeedError(
            f"the plan's {made.partitioner.scheme} does not guarantee {need.value}; "
            f"make one with plan(..., need={need.value!r})"
        )
