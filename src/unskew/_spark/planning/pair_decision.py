"""The plan of a cogroup: one route for whole keys of both sides."""

from __future__ import annotations

from unskew._spark.planning.cost_model import ASSUMED, FunctionCost
from unskew._spark.planning.decision import Question
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest, check_same_types
from unskew._spark.planning.scheme import MEASURED
from unskew._spark.planning.statistics import together
from unskew._spark.planning.work_record import WorkRecord


def plan_pair(
    left: RoutingRequest,
    right: RoutingRequest,
    cost: FunctionCost = ASSUMED,
    record: WorkRecord | None = None,
) -> Plan:
    """As asked for, or made from the rows of both sides or from what an earlier run took."""
    check_same_types(left.key, right.key)
    if left.scheme not in MEASURED or not left.key.fields:
        return left.plan()
    if left.scheme == "auto" and left.settings.capacities is None:
        question = Question(left, merges=False, cost=cost, record=record, right=right)
        return question.decide().plan
    return left.plan_from(together(left.profile(), right.routed_as(left).profile()))
