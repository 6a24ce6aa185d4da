"""Group functions: in bulk where that is known to give Spark's results sooner, else by Spark."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._spark.engine.calls import ArrowCall, Function, UserCall
from unskew._spark.engine.deciding import decided, decided_pair
from unskew._spark.engine.pandas_calls import PandasCall
from unskew._spark.engine.spark_call import apply_by_spark, cogroup_by_spark
from unskew._spark.engine.spark_rules import GroupKind, WorkerSettings, form_of
from unskew._spark.engine.stages import apply_in_bulk, cogroup_in_buckets, merge_in_bulk
from unskew._spark.planning.cost_model import CostHints
from unskew._spark.planning.notices import explained
from unskew._spark.planning.own_call import why_own_call
from unskew._spark.planning.pair_decision import plan_pair
from unskew._spark.planning.request import RoutingRequest
from unskew.partitioners import Need

_log = logging.getLogger("unskew")


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
    plan, place, by_spark = decided(request, call, None, hints)
    if by_spark:
        return explained(apply_by_spark(request, plan.route, call), plan)
    return explained(apply_in_bulk(request, plan.route, call, place), plan)


def apply_and_merge(
    request: RoutingRequest, call: UserCall, merge: UserCall, hints: CostHints
) -> DataFrame:
    """A function of parts of each key, whose results are merged by key."""
    if not _in_bulk(request):
        plan = request.needing(Need.WHOLE_KEY).plan()
        return explained(apply_by_spark(request, plan.route, call, merge), plan)
    plan, place, by_spark = decided(request, call, merge, hints)
    if by_spark:
        return explained(apply_by_spark(request, plan.route, call, merge), plan)
    return explained(merge_in_bulk(request, plan.route, call, merge, place), plan)


def apply_to_pairs(
    left: RoutingRequest, right: RoutingRequest, call: UserCall, hints: CostHints
) -> DataFrame:
    """A function of all rows of each key, of both sides."""
    left = left.needing(Need.WHOLE_KEY)
    if not _in_bulk(left):
        plan = plan_pair(left, right)
        return explained(cogroup_by_spark(left, right, plan.route, call), plan)
    plan, place, _ = decided_pair(left, right, call, hints)
    return explained(cogroup_in_buckets(left, right, plan.route, call, place), plan)


def _in_bulk(request: RoutingRequest) -> bool:
    why = why_own_call(bool(request.key.fields))
    if why is not None:
        _log.info("Spark's own call: %s", why)
    return why is None
