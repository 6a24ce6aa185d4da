"""Group functions: in bulk where that is known to give Spark's results sooner, else by Spark."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._spark.engine.calls import ArrowCall, Function, GroupCall, UserCall
from unskew._spark.engine.pandas_calls import PandasCall
from unskew._spark.engine.pilot import run_pilot
from unskew._spark.engine.spark_call import apply_by_spark, cogroup_by_spark
from unskew._spark.engine.spark_rules import KNOWN, GroupKind, WorkerSettings, form_of
from unskew._spark.engine.stages import apply_in_bulk, cogroup_in_bulk, merge_in_bulk
from unskew._spark.planning.cost_model import CostHints, FunctionCost
from unskew._spark.planning.decision import Question
from unskew._spark.planning.notices import explained
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest, plan_pair
from unskew.partitioners import Need


def group_call(
    rows: DataFrame, function: Function, schema: StructType, kind: GroupKind, groups: int = 1
) -> UserCall:
    """A user's function of groups of `rows`, checked as far as Spark checks it before a job."""
    form = form_of(function, kind, groups)
    settings = WorkerSettings.of(rows)
    if kind == "arrow":
        return ArrowCall(function, form, schema, settings)
    return PandasCall(function, form, schema, settings)


def apply_to_groups(request: RoutingRequest, call: UserCall, hints: CostHints) -> DataFrame:
    """A function of all rows of each key."""
    request = request.needing(Need.WHOLE_KEY)
    if not _in_bulk(request):
        plan = request.plan()
        return explained(apply_by_spark(request, plan.route, call), plan)
    plan = decided(request, call, None, hints)
    return explained(apply_in_bulk(request, plan.route, call), plan)


def apply_and_merge(
    request: RoutingRequest, call: UserCall, merge: UserCall, hints: CostHints
) -> DataFrame:
    """A function of parts of each key, whose results are merged by key."""
    if not _in_bulk(request):
        plan = request.needing(Need.WHOLE_KEY).plan()
        return explained(apply_by_spark(request, plan.route, call, merge), plan)
    plan = decided(request, call, merge, hints)
    return explained(merge_in_bulk(request, plan.route, call, merge), plan)


def apply_to_pairs(left: RoutingRequest, right: RoutingRequest, call: UserCall) -> DataFrame:
    """A function of all rows of each key, of both sides."""
    plan = plan_pair(left.needing(Need.WHOLE_KEY), right)
    apply = cogroup_in_bulk if _in_bulk(left) else cogroup_by_spark
    return explained(apply(left, right, plan.route, call), plan)


def decided(
    request: RoutingRequest, call: GroupCall, merge: GroupCall | None, hints: CostHints
) -> Plan:
    """The plan of a group function: as asked for, or the quickest way by forecast."""
    if request.scheme != "auto" or request.settings.capacities is not None:
        return request.plan()
    cost = _DEFAULTS[getattr(call, "kind", "arrow")]
    if hints.seconds_per_row is not None:
        cost = replace(cost, per_row=hints.seconds_per_row, source="given")
    pilot = partial(run_pilot, request, call, merge)
    may_call = hints.pilot and hints.seconds_per_row is None
    return Question(request, merge is not None, pilot if may_call else None, cost).decide()


_DEFAULTS: dict[GroupKind, FunctionCost] = {
    "arrow": FunctionCost(30e-6, 0.2e-6),
    "pandas": FunctionCost(300e-6, 0.2e-6),
}
"""Calls that do next to nothing."""


def _in_bulk(request: RoutingRequest) -> bool:
    # Without a key there is one group, on one worker: nothing to cut.
    return KNOWN and bool(request.key.fields)
