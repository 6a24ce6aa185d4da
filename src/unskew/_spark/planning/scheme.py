"""A scheme as a user gives it, with its settings: a name, a partitioner or a plan, checked.

The settings of a scheme are the parameters of its class. A name with settings becomes the
partitioner that they describe, unless a plan is made for it from the frequencies of the keys.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from unskew._spark.planning.plan import Plan
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.routing.route import IN_PLACE
from unskew.checking import check_value
from unskew.errors import NeedError, ParameterError, ParameterTypeError
from unskew.partitioners import PLANNED, Need, Partitioner, check_legal, scheme_named
from unskew.partitioners.contract import check_workers
from unskew.partitioners.settings import (
    check_independent,
    check_without_feedback,
    described,
    settings_of,
)

Scheme: TypeAlias = str | Partitioner | Plan
"""A name, the description of a scheme with its settings, or a plan made before."""

MEASURED = ("auto", *PLANNED)
"""Schemes that are made from the frequencies of the keys."""

_REPORTING = "workers report in the simulator, and to cg in unskew.streaming.groupBy(...).replanned"


def check_scheme(scheme: Any) -> None:
    """Raise unless it is a name, a partitioner or a plan."""
    if isinstance(scheme, str | Plan):
        return
    try:
        check_value("scheme", scheme, Partitioner)
    except ParameterTypeError:
        scheme_is = "the name of a scheme, a partitioner or a Plan"
        raise ParameterTypeError("scheme", scheme, scheme_is) from None
    if isinstance(scheme, type) or not dataclasses.is_dataclass(scheme):
        raise ParameterTypeError("scheme", scheme, "a partitioner: a dataclass with its settings")


def checked_workers(scheme: Scheme, workers: int | None) -> int | None:
    """How many workers are asked for; None if neither the scheme nor the user says."""
    check_scheme(scheme)
    if isinstance(scheme, str):
        if workers is not None:
            check_workers(workers)
        return workers
    if workers not in (None, scheme.workers):
        what = "plan" if isinstance(scheme, Plan) else "partitioner"
        raise ParameterError(f"workers={workers}, but the {what} has workers={scheme.workers}")
    return scheme.workers


def with_settings(
    scheme: Scheme, workers: int, settings: Mapping[str, Any], measured: bool = False
) -> tuple[Scheme, PlanSettings]:
    """The scheme with its own settings, and those of the plan that is made for it.

    A name stays one only if a plan is made for it, or if no row moves. `measured` if keys are
    counted whatever the scheme is.
    """
    if isinstance(scheme, Plan):
        _check_settings_of(scheme, settings)
        return scheme, PlanSettings()
    if isinstance(scheme, str) and scheme in MEASURED:
        _check_not_made(scheme, settings)
        return scheme, PlanSettings.of(settings, workers)
    reading = {name: settings[name] for name in settings if measured and name == "sample"}
    own = {name: settings[name] for name in settings if name not in reading}
    return _described(scheme, workers, own), PlanSettings.of(reading, workers)


def check_need_of(scheme: Scheme, need: Need) -> None:
    """Raise unless the scheme gives the guarantee, and can run on Spark."""
    if isinstance(scheme, Plan):
        _check_need_of_plan(scheme, need)
    elif scheme == IN_PLACE:
        _check_parts_may_merge(need)
    elif scheme != "auto":
        check_legal(scheme, need)
        if not isinstance(scheme, str):
            check_independent(scheme)


def check_reports(partitioner: Partitioner, way_out: str = _REPORTING) -> None:
    """Raise for settings that only matter where workers report, which tasks do not."""
    check_without_feedback(partitioner, way_out)


def requested(partitioner: Partitioner) -> str:
    """Why the scheme is taken, and what becomes of it where workers do not report."""
    if not partitioner.without_feedback:
        return "requested"
    return f"requested; without reports of the workers it is {partitioner.without_feedback}"


def _described(scheme: str | Partitioner, workers: int, settings: Mapping[str, Any]) -> Scheme:
    if not isinstance(scheme, str):
        if settings:
            raise ParameterError(
                f"the partitioner is complete; give {', '.join(settings)} to "
                f"{type(scheme).__name__}(...)"
            )
    elif scheme == IN_PLACE:
        if settings:
            raise ParameterError(
                f"{IN_PLACE} moves no row and has no settings; remove {', '.join(settings)}, or "
                "name a scheme that has them"
            )
    else:
        return described(scheme, workers, settings)
    return scheme


def _check_not_made(scheme: str, settings: Mapping[str, Any]) -> None:
    """Raise for what is made from the frequencies of the keys."""
    if scheme == "auto":
        return
    made = [name for name in settings_of(scheme) if name in settings]
    if made:
        kind = scheme_named(scheme).__name__
        raise ParameterError(
            f"{scheme} makes its {', '.join(made)} from the frequencies of the keys; to give your "
            f"own, use scheme={kind}(workers, {made[0]}=...)"
        )


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


def _check_need_of_plan(made: Plan, need: Need) -> None:
    if made.route.stays:
        _check_parts_may_merge(need)
    elif not made.partitioner.need.keeps(need):
        raise NeedError(
            f"the plan's {made.partitioner.scheme} does not guarantee {need.value}; "
            f"make one with plan(..., need={need.value!r})"
        )
