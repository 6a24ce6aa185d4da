"""What a user asks of an app: a scheme with its settings, checked before Spark starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unskew.cli.settings import scheme_from
from unskew.errors import ParameterError, UnknownNameError
from unskew.partitioners import Partitioner, check_legal
from unskew.partitioners.settings import check_independent, check_without_feedback
from unskew.rebalancing import ALL as PLANNERS
from unskew.rebalancing import Rebalancer
from unskew.rebalancing.settings import build
from unskew_lab.apps.contract import App


@dataclass(frozen=True)
class Asked:
    """A scheme, with its own settings or with those of the plan that is made for it."""

    name: str
    scheme: str | Partitioner | Rebalancer
    """A name alone if no setting of its own is given."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the plan."""

    @classmethod
    def of(cls, app: App, name: str, settings: dict[str, str], workers: int) -> Asked:
        """Check the scheme, its settings, and that it may run the app on Spark."""
        if name in app.names or not app.by_routes:
            return cls(name, _planner(app, name, settings))
        scheme, planned = scheme_from(name, workers, settings)
        if scheme != "auto":
            check_legal(scheme, app.need)
        if not isinstance(scheme, str):
            check_independent(scheme)
            check_without_feedback(scheme, "`unskew simulate` has workers that report")
        return cls(name, scheme if settings else name, planned)


def _planner(app: App, name: str, settings: dict[str, str]) -> str | Rebalancer:
    if name not in app.names:
        raise UnknownNameError("scheme", name, app.names)
    if not settings:
        return name
    if name not in PLANNERS:
        raise ParameterError(f"{name} has no settings; remove --set {', '.join(settings)}")
    return build(name, settings)
