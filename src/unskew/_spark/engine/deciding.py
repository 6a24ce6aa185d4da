"""The plan of a group function: as asked for, remembered, or decided after a pilot."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from unskew._spark.engine.calls import GroupCall, UserCall
from unskew._spark.engine.pilot import run_pilot
from unskew._spark.engine.pilot_task import ROWS
from unskew._spark.engine.spark_rules import GroupKind
from unskew._spark.engine.state_calls import FoldCall
from unskew._spark.planning.cost_model import ASSUMED, CostHints, FunctionCost
from unskew._spark.planning.decision import Decision, Question
from unskew._spark.planning.job_names import fingerprint, job_name
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.pair_decision import plan_pair
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.planning.work_record import MOST_TRUSTED, WorkRecord

_NOTHING: dict[GroupKind, FunctionCost] = {
    "arrow": FunctionCost(30e-6, 0.2e-6),
    "pandas": FunctionCost(300e-6, 0.2e-6),
}
"""Calls that do next to nothing."""


class Decided(NamedTuple):
    """A plan, and where tasks record what the function takes."""

    plan: Plan
    place: RecordPlace | None
    by_spark: bool
    """Whether groups go to Python by Spark's own call, where nothing is recorded."""


def decided(
    request: RoutingRequest, call: UserCall | FoldCall, merge: GroupCall | None, hints: CostHints
) -> Decided:
    """The plan that is asked for, or the quickest way by forecast."""
    if request.scheme != "auto" or request.settings.capacities is not None:
        # Nothing is recorded that nobody recalls: only "auto" puts runs together.
        return Decided(request.plan(), None, False)
    job = _Remembered.of(request, call, merge, hints)
    record = job.recall() if job else None
    plan, by_spark, merging = _weighed(request, call, merge, hints, record)
    if job is None:
        return Decided(plan, None, by_spark)
    # What is remembered is measured in bulk, and now and then again: keys may have changed.
    if by_spark and record is not None and record.trusted < MOST_TRUSTED:
        job.memory.keep_trusted(job.name, record)
        return Decided(plan, None, True)
    return Decided(plan, job.place(plan, merging), False)


def decided_pair(
    left: RoutingRequest, right: RoutingRequest, call: UserCall, hints: CostHints
) -> Decided:
    """The same for a function of the groups of two sides, which no pilot times."""
    if left.scheme != "auto" or left.settings.capacities is not None:
        return Decided(plan_pair(left, right), None, False)
    job = _Remembered.of(left, call, None, hints, right)
    record = job.recall() if job else None
    plan = plan_pair(left, right, _told(hints, call.kind), record)
    place = job.start(plan.route.workers) if job else None
    return Decided(plan, place, False)


def _told(hints: CostHints, kind: GroupKind | None) -> FunctionCost:
    """What a function costs that nobody times."""
    if hints.seconds_per_row is None:
        return ASSUMED
    return replace(_NOTHING[kind or "arrow"], per_row=hints.seconds_per_row, source="given")


def _weighed(
    request: RoutingRequest,
    call: UserCall | FoldCall,
    merge: GroupCall | None,
    hints: CostHints,
    record: WorkRecord | None,
) -> Decision:
    kind: GroupKind | None = getattr(call, "kind", None)
    may_call = hints.pilot and hints.seconds_per_row is None
    pilot = partial(run_pilot, request, call, merge) if may_call else None
    return Question(
        request, merge is not None, pilot, _told(hints, kind), ROWS, record, kind
    ).decide()


class _Remembered(NamedTuple):
    """A job in the session's memory."""

    memory: Memory
    name: str
    fingerprint: str

    @classmethod
    def of(
        cls,
        request: RoutingRequest,
        call: UserCall | FoldCall,
        merge: GroupCall | None,
        hints: CostHints,
        right: RoutingRequest | None = None,
    ) -> _Remembered | None:
        memory = Memory.of(request.rows.sparkSession)
        if memory is None or not request.key.fields:
            return None
        names, kinds = request.key.names, [each.dataType.json() for each in request.key.fields]
        if isinstance(call, FoldCall):
            # Without the places in memory that objects may show.
            aggregates = call.states.aggregates
            what = re.sub(r" at 0x\w+", "", " ".join(map(repr, aggregates)))
            added = [type(each).add for each in aggregates]
            name = job_name(hints.name, f"agg {what}", names, None)
            return cls(memory, name, fingerprint(["agg", *names, *kinds, what, added]))
        verb = "whole" if merge is None else "merged"
        if right is not None:
            verb, names = "cogroup", (*names, *right.key.names)
        name = job_name(hints.name, verb, names, call.function)
        functions = [call.function, getattr(merge, "function", None)]
        return cls(memory, name, fingerprint([verb, call.kind, *names, *kinds, functions]))

    def recall(self) -> WorkRecord | None:
        """What an earlier run of the same function took."""
        return self.memory.recall(self.name, self.fingerprint, by_table=True)

    def place(self, plan: Plan, merging: tuple[float, float]) -> RecordPlace | None:
        """Where the tasks of this run record theirs; where rows are placed, there are so many."""
        route = plan.route
        return self.start(None if route.plain or route.stays else route.workers, merging)

    def start(
        self, tasks: int | None, merging: tuple[float, float] = (0.0, 0.0)
    ) -> RecordPlace | None:
        """Where so many tasks record theirs."""
        return self.memory.start_run(self.name, self.fingerprint, tasks, merging)
