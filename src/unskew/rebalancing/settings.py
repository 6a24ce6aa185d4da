"""Planners from the words of a command line."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from unskew.errors import UnknownNameError
from unskew.partitioners.serialization import parse_value
from unskew.rebalancing import ALL, Rebalancer


def build(algorithm: str, settings: Mapping[str, str] | None = None) -> Rebalancer:
    """A planner from its name and its settings as text.

    >>> build("mixed", {"theta": "0.02", "r": "3"})
    Mixed(theta=0.02, table=3000, beta=1.5, r=3)
    """
    if algorithm not in ALL:
        raise UnknownNameError("algorithm", algorithm, ALL)
    kind = ALL[algorithm]
    hints = typing.get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(typing.cast(Any, kind))}
    values: dict[str, Any] = {}
    for name, text in (settings or {}).items():
        if name not in known:
            raise UnknownNameError(f"setting of {algorithm}", name, known)
        values[name] = None if text == "none" else parse_value(name, text, hints[name])
    return kind(**values)
