"""`join` as in PySpark, with hot keys split on one side and copied to their parts on the other.

A row of the split side is on exactly one worker, and all rows of its key from the other side are
copied there, so every pair of rows meets exactly once. Outer joins add one danger: a copied row
may find no partner on one worker and have them all on another. Which keys the split side really
has is therefore looked up while the join runs; a row whose key is there is dropped wherever it
finds no partner, and a row whose key is not there is never copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, check_rows
from unskew._spark.frames.physical_plan import physical_plan
from unskew._spark.planning.join import JoinPlan, leave_join_to_spark, plan_join_routes
from unskew._spark.planning.notices import explained
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.routing.route import place
from unskew._spark.verbs.join_condition import KeyedSide, keyed_sides
from unskew._spark.verbs.join_sides import Side
from unskew.errors import KeyTypeError, NeedError, ParameterError, UnknownNameError
from unskew.partitioners import Need, PlannedSplit

KINDS = {
    "inner": "inner",
    "left": "left",
    "leftouter": "left",
    "right": "right",
    "rightouter": "right",
    "full": "full",
    "outer": "full",
    "fullouter": "full",
    "semi": "semi",
    "leftsemi": "semi",
    "anti": "anti",
    "leftanti": "anti",
}
On = str | Column | Sequence[str] | Sequence[Column]
"""What a join may be by."""
_PRESERVED = {"inner": "", "left": "l", "right": "r", "full": "lr", "semi": "", "anti": "l"}


def join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    how: str = "inner",
    *,
    workers: int | None = None,
    scheme: str | Plan = "auto",
    **settings: Any,
) -> DataFrame:
    """Join by equal columns: Spark's result, with hot keys spread over the workers.

    Parameters
    ----------
    left, right : DataFrame
        The two sides.
    on : str, Column, or a list of either
        Names of columns that both have, or equalities between the sides (`a.id == b.user`), all
        of which must hold; with those, both sides keep their columns. A join by any other
        condition is left to Spark.
    how : str
        inner, left, right, full, semi or anti, or another of Spark's names for these.
    workers : int, optional
        How many partitions to join on; the shuffle partitions of the session if not given.
    scheme : str or Plan
        With "auto", both sides are read once for their keys' frequencies, unless Spark would
        broadcast one of them; the join is left to Spark where hashing keeps the workers level.
        "planned-split" always splits; schemes that keep keys whole send both sides by the same
        route.
    **settings
        What `plan` takes: epsilon, table, sample.

    Returns
    -------
    DataFrame
        The rows of `left.join(right, on, how)`, in any order.
    """
    asked = _Join.of(left, right, on, how, workers, scheme, settings)
    plan = asked.plan()
    return explained(asked.run(plan), plan)


def plan_join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    how: str = "inner",
    *,
    workers: int | None = None,
    scheme: str | Plan = "auto",
    **settings: Any,
) -> JoinPlan:
    """Decide how `join` with the same arguments would run, without running it.

    Parameters
    ----------
    left, right, on, how, workers, scheme, **settings
        As in `join`.

    Returns
    -------
    JoinPlan
        With `explain()`, the reason `why`, and the expected `max_over_mean`.
    """
    return _Join.of(left, right, on, how, workers, scheme, settings).plan()


@dataclass(frozen=True, slots=True)
class _Join:
    """A join that was asked for, checked."""

    left: RoutingRequest
    right: RoutingRequest
    kind: str
    plain: DataFrame
    """Spark's own join."""

    @classmethod
    def of(
        cls,
        left: DataFrame,
        right: DataFrame,
        on: On,
        how: str,
        workers: int | None,
        scheme: str | Plan,
        settings: Mapping[str, Any],
    ) -> _Join:
        check_rows("left", left)
        check_rows("right", right)
        kind = _kind(how)
        by = _listed(on)
        keyed = _keyed(left, right, by)
        try:
            here, there = (
                RoutingRequest.of(
                    side.rows,
                    side.key,
                    need=Need.MERGEABLE if scheme == PlannedSplit.scheme else Need.WHOLE_KEY,
                    workers=workers,
                    scheme=scheme,
                    settings=settings,
                )
                for side in keyed
            )
        except NeedError as problem:
            raise NeedError(f"{problem}, planned-split (which copies the other side)") from None
        if scheme != "auto":
            _check_routable(here.key, there.key)
        return cls(here, there, kind, left.join(right, by, kind))

    def plan(self) -> JoinPlan:
        left, right = self.left, self.right
        if not left.key.fields:
            why = "the condition is not one of equalities between the sides"
            return leave_join_to_spark(left, why)
        if left.key.differing_types(right.key):
            why = "the key's types differ between left and right"
            return leave_join_to_spark(left, why)
        if left.scheme == "auto" and "BroadcastHashJoin" in physical_plan(self.plain):
            return leave_join_to_spark(left, "it broadcasts one side of the join")
        return plan_join_routes(left, self._reduced(), right_may_split=not self._only_filters)

    def run(self, plan: JoinPlan) -> DataFrame:
        if plan.plain:
            return self.plain
        left, right = self.left, self._reduced()
        beside = (left.rows, right.rows)
        worker = helper_name("worker", *beside)
        preserved = _PRESERVED[self.kind]
        here = Side(left, plan.left, "l" in preserved, helper_name("match_left", *beside))
        there = Side(right, plan.right, "r" in preserved, helper_name("match_right", *beside))
        # Looked up and joined, a side is read twice: it is kept, so that it is computed once.
        if here.looks_up_other:
            there = there.kept()
        if there.looks_up_other:
            here = here.kept()
        placed = [
            place(side.routed(worker, other.request.rows), worker, plan.workers)
            for side, other in ((here, there), (there, here))
        ]
        how = {"semi": "inner", "anti": "left"}.get(self.kind, self.kind)
        key = left.key.column_names
        both = placed[0].join(placed[1], [*key, worker], how)
        unmatched = _is_unmatched_copy(here, there) | _is_unmatched_copy(there, here)
        if self.kind == "anti":
            unmatched = unmatched | F.col(there.has_match).isNotNull()
        helpers = key if left.key.shown else ()
        return both.where(~unmatched).drop(worker, here.has_match, there.has_match, *helpers)

    @property
    def _only_filters(self) -> bool:
        return self.kind in ("semi", "anti")

    def _reduced(self) -> RoutingRequest:
        """The right side; only its distinct keys where these are all that matters."""
        if not self._only_filters:
            return self.right
        return self.right.on(self.right.rows.select(*self.right.key.columns).distinct())


def _is_unmatched_copy(side: Side, other: Side) -> Column:
    """A copy that found no partner here, of a row that has partners elsewhere."""
    return F.coalesce(F.col(side.has_match), F.lit(False)) & F.col(other.has_match).isNull()


def _kind(how: str) -> str:
    kind = KINDS.get(str(how).lower().replace("_", ""))
    if kind is None:
        raise UnknownNameError("join", how, set(KINDS.values()))
    return kind


def _listed(on: On) -> list[Any]:
    by = list(on) if isinstance(on, list | tuple) else [on]
    if not by or not any(all(isinstance(each, kind) for each in by) for kind in (str, Column)):
        raise ParameterError(
            "join takes names of columns that both sides have, or conditions such as "
            "left.id == right.user; one of them or a list"
        )
    return by


def _keyed(left: DataFrame, right: DataFrame, by: list[Any]) -> tuple[KeyedSide, KeyedSide]:
    if isinstance(by[0], str):
        return KeyedSide(left, KeyColumns.of(left, by)), KeyedSide(right, KeyColumns.of(right, by))
    without = KeyedSide(left, KeyColumns(())), KeyedSide(right, KeyColumns(()))
    return keyed_sides(left, right, by) or without


def _check_routable(left: KeyColumns, right: KeyColumns) -> None:
    if not left.fields:
        raise ParameterError(
            "the condition is not one of equalities between the sides; join by such and filter the "
            "result, or leave the scheme to 'auto', which leaves this join to Spark"
        )
    if left.differing_types(right):
        raise KeyTypeError(
            f"{', '.join(left.names)}: the types differ between left and right, and equal keys "
            "would have different hashes; cast one side"
        )
