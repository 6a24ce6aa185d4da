"""Planners from a command line's settings."""

from __future__ import annotations

from collections.abc import Mapping

from unskew.errors import UnknownNameError
from unskew.partitioners.serialization import parse_settings
from unskew.rebalancing import ALL, Rebalancer


def build(algorithm: str, settings: Mapping[str, str] | None = None) -> Rebalancer:
    """A planner from its name and its settings as text.

    >>> build("mixed", {"theta": "0.02", "r": "3"})
    Mixed(theta=0.02, table=3000, beta=1.5, r=3)
    """
    if algorithm not in ALL:
        raise UnknownNameError("algorithm", algorithm, ALL)
    kind = ALL[algorithm]
    return kind(**parse_settings(algorithm, kind, settings or {}))
