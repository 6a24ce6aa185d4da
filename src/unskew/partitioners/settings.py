"""Settings of schemes: each is a parameter of the scheme's class, which checks it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from unskew.checking import field_types
from unskew.errors import NeedError, ParameterError, UnknownNameError
from unskew.partitioners import legal_for, scheme_named
from unskew.partitioners.contract import Partitioner


def settings_of(scheme: str) -> dict[str, Any]:
    """The settings of a scheme with their types: all that its class takes beside `workers`.

    >>> list(settings_of("porc"))
    ['epsilon', 'distinct', 'window']
    """
    hints = field_types(scheme_named(scheme))
    return {name: hint for name, hint in hints.items() if name != "workers"}


def check_setting_names(scheme: str, settings: Mapping[str, Any]) -> None:
    """Raise for a setting that the scheme does not have."""
    known = settings_of(scheme)
    for name in settings:
        if name not in known:
            raise UnknownNameError(f"setting of {scheme}", name, known)


def described(scheme: str, workers: int, settings: Mapping[str, Any]) -> Partitioner:
    """A partitioner from its name and its settings.

    >>> described("pkg", 8, {"choices": 3}).choices
    3
    """
    check_setting_names(scheme, settings)
    return scheme_named(scheme)(workers=workers, **settings)  # type: ignore[call-arg]


def changed_settings(partitioner: Partitioner) -> dict[str, Any]:
    """The settings that are not the default.

    >>> changed_settings(described("pkg", 8, {"choices": 3}))
    {'choices': 3}
    """
    usual = _usual(partitioner)
    found = {}
    for field in dataclasses.fields(usual):
        mine, default = getattr(partitioner, field.name), getattr(usual, field.name)
        same = np.array_equal(mine, default) if isinstance(mine, np.ndarray) else mine == default
        if not same:
            found[field.name] = mine
    return found


def check_independent(partitioner: Partitioner) -> None:
    """Raise unless every source can route by itself, as a task of Spark does."""
    if _is_independent(partitioner):
        return
    lacks = (
        "one router shared by all sources"
        if partitioner.coordinated
        else "the workers to report their loads while rows are routed"
    )
    scheme, described_by = partitioner.scheme, changed_settings(partitioner)
    for name, value in described_by.items():
        usual = getattr(_usual(partitioner), name)
        if _is_independent(dataclasses.replace(partitioner, **{name: usual})):  # type: ignore[type-var]
            raise NeedError(
                f"{name}={value!r} of {scheme} needs {lacks}, which Spark cannot provide; "
                f"use {name}={usual!r}, or the simulator"
            )
    raise NeedError(
        f"{scheme} needs {lacks}, which Spark cannot provide; these schemes guarantee "
        f"{partitioner.need.value} without it: {', '.join(legal_for(partitioner.need))}"
    )


def check_without_feedback(partitioner: Partitioner, way_out: str) -> None:
    """Raise for settings that have no effect where workers do not report to the routers."""
    for name, value in changed_settings(partitioner).items():
        if name in partitioner.feedback_settings:
            raise ParameterError(
                f"{name}={value!r} of {partitioner.scheme} says how reports of the workers are "
                f"used, and here nobody reports; {way_out}"
            )


def _usual(partitioner: Partitioner) -> Any:
    kind: Any = type(partitioner)
    return kind(workers=partitioner.workers)


def _is_independent(partitioner: Partitioner) -> bool:
    return not partitioner.coordinated and partitioner.report_every is None
