"""`repartition` by key, with heavy keys placed where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.planning.decision import COSTLY, LATE
from unskew._spark.planning.input import Input
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.notices import explained
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.side_jobs import beside, budget
from unskew._spark.planning.statistics import PASS, profile_keys
from unskew._spark.routing.route import IN_PLACE
from unskew.errors import ParameterError
from unskew.partitioners import Need, Partitioner
from unskew.partitioners.contract import need_named


def repartition(
    rows: DataFrame,
    key: str | Sequence[str],
    workers: int | None = None,
    *,
    scheme: str | Partitioner | Plan = "auto",
    need: Need | str = Need.WHOLE_KEY,
    **settings: Any,
) -> DataFrame:
    """The same rows on `workers` partitions, by key.

    Parameters
    ----------
    rows : DataFrame
        The rows.
    key : str or list of str
        The column or columns of the key.
    workers : int, optional
        How many partitions; if not given one for each slot of the session, or several if there are
        more bytes than these can take.
    scheme : str, Partitioner or Plan
        A way of routing rows by name or with its settings, or a plan made before. "auto" counts
        the keys where that is quick, and leaves the rows to Spark where it is not.
    need : Need or {"whole-key", "mergeable", "any-row"}
        All rows of a key stay together unless this says that they may part.
    **settings
        As of `groupBy`.

    Returns
    -------
    DataFrame
        The same rows and columns.
    """
    request = RoutingRequest.of(
        rows, key, need=need_named(need), workers=workers, scheme=scheme, settings=settings
    )
    if request.scheme == IN_PLACE:
        raise ParameterError(f"scheme={IN_PLACE!r} moves no row; name a scheme that places them")
    plan = _decided(request) if request.scheme == "auto" else request.plan()
    if plan.plain:
        return explained(rows.repartition(request.workers, *request.key.columns), plan)
    return explained(plan.route.repartition(rows, request.key), plan)


def _decided(request: RoutingRequest) -> Plan:
    """By the frequencies of the keys, if they can be counted in time."""
    if request.settings.capacities is not None:
        return request.plan()  # Spark itself knows of no workers that differ.
    session, source = request.rows.sparkSession, Input.of(request.rows)
    if not source.cheap:
        return request.left_to_spark(COSTLY)
    seconds = budget(session)
    sample = request.settings.sample or source.countable(Machine.of(session), seconds)
    profile = beside(
        session,
        PASS,
        seconds,
        lambda: profile_keys(
            request.rows, request.key, request.workers, sample, source.few(sample)
        ),
    )
    return request.left_to_spark(LATE) if profile is None else request.plan_from(profile)
