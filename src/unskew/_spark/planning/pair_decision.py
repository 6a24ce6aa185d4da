"""The plan of a cogroup: one route for whole keys of both sides."""

from __future__ import annotations

from dataclasses import replace

from unskew._spark.planning.decision import COSTLY, LATE, RANGES, Question
from unskew._spark.planning.input import Input
from unskew._spark.planning.machine import Machine, shuffle_partitions
from unskew._spark.planning.notices import tell
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest, check_same_types
from unskew._spark.planning.scheme import MEASURED
from unskew._spark.planning.side_jobs import beside, budget
from unskew._spark.planning.statistics import KeyProfile, together
from unskew._spark.routing.route import Route
from unskew.partitioners import KeyGrouping


def plan_pair(left: RoutingRequest, right: RoutingRequest) -> Plan:
    """As asked for, or made from the rows of both sides."""
    check_same_types(left.key, right.key)
    if left.scheme not in MEASURED or not left.key.fields:
        return left.plan()
    if left.scheme == "auto" and left.settings.capacities is None:
        return _decided(left, right)
    return left.plan_from(_counted(left, right))


def _decided(left: RoutingRequest, right: RoutingRequest) -> Plan:
    """By the frequencies of the keys, unless an input is costly to compute: it is read once."""
    session = left.rows.sparkSession
    machine = Machine.of(session)
    inputs = Input.of(left.rows), Input.of(right.rows)
    asked = left.given["workers"]
    why = COSTLY
    if all(each.cheap for each in inputs):
        profile = beside(
            session,
            "frequencies of the keys of both sides",
            budget(session),
            lambda: _counted(replace(left, workers=RANGES), right),
        )
        if profile is not None:
            return Question(left, merges=False).counted(machine, _both(*inputs), profile).plan
        why = LATE
    most = shuffle_partitions(session)
    tasks = asked or max(each.tasks_on(machine, most) for each in inputs)
    route = Route.of(KeyGrouping(tasks))
    tell(f"{route.name}: {why}")
    return left.made(route, why)


def _both(left: Input, right: Input) -> Input:
    """The rows of both sides as one input."""
    rows = None if left.rows is None or right.rows is None else left.rows + right.rows
    tasks = (left.partitions or 0) + (right.partitions or 0)
    return Input(True, rows, tasks or None, (left.row_bytes + right.row_bytes) / 2)


def _counted(left: RoutingRequest, right: RoutingRequest) -> KeyProfile:
    return together(left.profile(), right.routed_as(left).profile())
