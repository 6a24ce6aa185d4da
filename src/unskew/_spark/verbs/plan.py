"""A plan made by hand: how to spread the rows of keys over workers, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.planning.cost_model import CostHints, FunctionCost
from unskew._spark.planning.decision import RANGES, Question
from unskew._spark.planning.input import Input
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.routing.route import IN_PLACE
from unskew.partitioners import Need, Partitioner
from unskew.partitioners.contract import need_named


def plan(
    rows: DataFrame,
    key: str | Sequence[str],
    workers: int | None = None,
    *,
    need: Need | str = Need.MERGEABLE,
    scheme: str | Partitioner = "auto",
    seconds_per_row: float | None = None,
    **settings: Any,
) -> Plan:
    """Measure the keys of `rows` in one pass and decide how to spread them over `workers`.

    Parameters
    ----------
    rows : DataFrame
        The rows, or others with keys like theirs.
    key : str or list of str
        The column or columns that the rows are grouped by.
    workers : int, optional
        How many partitions there will be; if not given one for each slot of the session, or
        several if there are more bytes than these can take.
    need : Need or {"whole-key", "mergeable", "any-row"}
        What the work needs of the rows of one key; schemes that do not guarantee it are refused.
    scheme : str or Partitioner
        The name of a scheme, or one with its settings, `PartialKey(workers=8, choices=5)`; "auto"
        picks by need and skew, and gives the reason.
    seconds_per_row : float, optional
        What is done with a row takes so long: "auto" then weighs what each way of placing whole
        keys or parts of them would take, and `explain()` shows it. Nothing else tells what follows;
        without it, "auto" levels rows as soon as hashing gives a worker 5 % too many.
    **settings
        Of a named scheme: the parameters of its class (`scheme="pkg", choices=5`). Of "auto" and
        schemes made from frequencies: `capacities`, the relative speed of each worker (all alike
        if not given); `epsilon`, by how much a worker may exceed its fair share (0.005); `table`,
        the most keys that are routed by name (1,000). Of all: `sample`, the share of the rows to
        read, above 0 and at most 1 (all if not given).

    Returns
    -------
    Plan
        With `explain()`, `apply(rows)`, `with_worker(rows)`, `to_json()`.
    """
    hints = CostHints.of(seconds_per_row)
    request = RoutingRequest.of(
        rows,
        key,
        need=need_named(need),
        workers=workers,
        scheme=scheme,
        settings=settings,
        measured=True,
    )
    if request.scheme == IN_PLACE or isinstance(request.scheme, Plan):
        return request.plan()
    if hints.seconds_per_row is None or not _weighs(request):
        # A plan always has a forecast, so that every scheme is measured.
        return request.plan_from(request.profile())
    cost = FunctionCost(0.0, hints.seconds_per_row, source="given")
    question = Question(request, request.need is Need.MERGEABLE, cost=cost, moves=True)
    session = rows.sparkSession
    profile = replace(request, workers=RANGES).profile()
    return question.counted(Machine.of(session), Input.of(rows), profile).plan


def _weighs(request: RoutingRequest) -> bool:
    """Whether ways can be weighed: keys matter to the work, and workers are alike."""
    return (
        request.scheme == "auto"
        and request.need is not Need.ANY_ROW
        and request.settings.capacities is None
    )
