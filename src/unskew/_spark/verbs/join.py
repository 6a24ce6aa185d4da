"""`join` as in PySpark, with hot keys split on one side and copied to their parts on the other.

A row of the split side is on exactly one worker, and all rows of its key from the other side are
copied there, so every pair of rows meets exactly once. Outer joins add one danger: a copied row
may find no partner on one worker and have them all on another. Which keys the split side really
has is therefore looked up while the join runs; a row whose key is there is dropped wherever it
finds no partner, and a row whose key is not there is never copied. A side that is copied whole
needs no look-up: its rows are in the result with a partner only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, check_rows
from unskew._spark.frames.physical_plan import physical_plan
from unskew._spark.planning.cost_model import CostHints
from unskew._spark.planning.join import COPY, JoinPlan
from unskew._spark.planning.join_decision import JoinQuestion, left_to_spark
from unskew._spark.planning.join_kinds import JoinKind
from unskew._spark.planning.join_memory import JoinMemory
from unskew._spark.planning.notices import explained
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.verbs.join_condition import KeyedSide, keyed_sides
from unskew._spark.verbs.join_sides import Side
from unskew.errors import KeyTypeError, NeedError, ParameterError
from unskew.partitioners import Need, Partitioner, PlannedSplit

On = str | Column | Sequence[str] | Sequence[Column]
"""What a join may be by."""


def join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    how: str = "inner",
    *,
    workers: int | None = None,
    scheme: str | Partitioner | Plan = "auto",
    seconds_per_row: float | None = None,
    name: str | None = None,
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
        How many partitions to join on. If not given, one for each slot of the session, or
        several if there are more bytes than these can take.
    scheme : str, Partitioner or Plan
        With "auto", the way that is expected to take the least time; keys are counted only where
        that can pay, and never those of a side that is more than a scan. "planned-split" splits
        hot keys on one side and copies them on the other, "copy" sends all rows of one side to
        every worker and deals the other's; schemes that keep keys whole, by name or with their
        settings, send both sides by the same route.
    seconds_per_row : float, optional
        What is done with a row of the result takes so long, for "auto" to level; nothing else
        tells what comes behind a join.
    name : str, optional
        Under which `unskew.remember` keeps what was counted of the keys; the place of the call if
        not given.
    **settings
        As of `groupBy`.

    Returns
    -------
    DataFrame
        The rows of `left.join(right, on, how)`, in any order.
    """
    hints = CostHints.of(seconds_per_row, name=name)
    asked = _Join.of(left, right, on, how, workers, scheme, settings, hints)
    plan = asked.plan()
    return explained(asked.run(plan), plan)


def plan_join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    how: str = "inner",
    *,
    workers: int | None = None,
    scheme: str | Partitioner | Plan = "auto",
    seconds_per_row: float | None = None,
    name: str | None = None,
    **settings: Any,
) -> JoinPlan:
    """Decide how `join` with the same arguments would run, without running it.

    Parameters
    ----------
    left, right, on, how, workers, scheme, seconds_per_row, name, **settings
        As in `join`.

    Returns
    -------
    JoinPlan
        With `explain()`, the reason `why`, the `ways` that were weighed, and the expected
        `max_over_mean` if keys were counted.
    """
    hints = CostHints.of(seconds_per_row, name=name)
    return _Join.of(left, right, on, how, workers, scheme, settings, hints).plan()


@dataclass(frozen=True, slots=True)
class _Join:
    """A join that was asked for, checked."""

    left: RoutingRequest
    right: RoutingRequest
    kind: JoinKind
    plain: DataFrame
    """Spark's own join."""
    hints: CostHints
    """Of what follows."""

    @classmethod
    def of(
        cls,
        left: DataFrame,
        right: DataFrame,
        on: On,
        how: str,
        workers: int | None,
        scheme: str | Partitioner | Plan,
        settings: Mapping[str, Any],
        hints: CostHints,
    ) -> _Join:
        check_rows("left", left)
        check_rows("right", right)
        kind = JoinKind.named(how)
        by = _listed(on)
        keyed = _keyed(left, right, by)
        if scheme == COPY and settings:
            raise ParameterError(
                f"{COPY} has no settings; remove {', '.join(settings)}, or name another scheme"
            )
        try:
            here, there = (
                RoutingRequest.of(
                    side.rows,
                    side.key,
                    need=Need.MERGEABLE if scheme == PlannedSplit.scheme else Need.WHOLE_KEY,
                    workers=workers,
                    scheme="auto" if scheme == COPY else scheme,
                    settings=settings,
                )
                for side in keyed
            )
        except NeedError as problem:
            raise NeedError(
                f"{problem}; in a join also planned-split, which copies the other side"
            ) from None
        if scheme != "auto":
            _check_routable(here.key, there.key)
        if scheme == COPY:
            # No partitioner has this name: rows go to all workers, or to any.
            here = replace(here, scheme=scheme)
        plain = left.join(right, by, kind.value)
        return cls(here, there, kind, plain, hints)

    def plan(self) -> JoinPlan:
        left, right = self.left, self.right
        if not left.key.fields:
            return left_to_spark(left, "the condition is not one of equalities between the sides")
        if left.key.differing_types(right.key):
            return left_to_spark(left, "the key's types differ between left and right")
        if left.scheme == "auto":
            text = physical_plan(self.plain)
            if "BroadcastHashJoin" in text:
                return left_to_spark(left, "it broadcasts one side of the join")
            if text.count("Exchange") < 2:
                return left_to_spark(left, "the rows of one side are where the join needs them")
        seconds = self.hints.seconds_per_row or 0.0
        memory = JoinMemory.of(left, right, self.kind, self.hints.name)
        return JoinQuestion(left, self._reduced(), self.kind, right.rows, seconds, memory).decide()

    def run(self, plan: JoinPlan) -> DataFrame:
        if plan.plain:
            return self.plain
        left, right = self.left, self._reduced()
        beside = (left.rows, right.rows)
        worker = helper_name("worker", *beside)
        kept = self.kind.preserved
        here = Side(left, plan.left, "left" in kept, helper_name("match_left", *beside))
        there = Side(right, plan.right, "right" in kept, helper_name("match_right", *beside))
        looked_up = here.looks_up_other or there.looks_up_other
        # Looked up and joined, a side is read twice: it is kept, so that it is computed once.
        if here.looks_up_other:
            there = there.kept()
        if there.looks_up_other:
            here = here.kept()
        filters_out = self.kind is JoinKind.ANTI
        key = left.key.column_names
        # Spark would move a semi or an anti join before the placing.
        both = here.placed(worker, there.request.rows, marked=looked_up).join(
            there.placed(worker, here.request.rows, marked=looked_up or filters_out),
            [*key, worker],
            {JoinKind.SEMI: "inner", JoinKind.ANTI: "left"}.get(self.kind, self.kind.value),
        )
        if looked_up:
            both = both.where(~(_is_unmatched_copy(here, there) | _is_unmatched_copy(there, here)))
        if filters_out:
            both = both.where(F.col(there.has_match).isNull())
        helpers = key if left.key.shown else ()
        return both.drop(worker, here.has_match, there.has_match, *helpers)

    def _reduced(self) -> RoutingRequest:
        """The right side; only its distinct keys where these are all that matters."""
        if not self.kind.only_filters:
            return self.right
        return self.right.on(self.right.rows.select(*self.right.key.columns).distinct())


def _is_unmatched_copy(side: Side, other: Side) -> Column:
    """A copy that found no partner here, of a row that has partners elsewhere."""
    return F.coalesce(F.col(side.has_match), F.lit(False)) & F.col(other.has_match).isNull()


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
