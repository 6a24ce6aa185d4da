"""The docstrings of schemes and planners, taken apart: what · When · Cost · Paper."""

from __future__ import annotations

import inspect
import re
from typing import Any

from unskew.partitioners import Need

PARTS = ("When", "Cost", "Paper")
_PROMISES = {
    Need.WHOLE_KEY: "whole keys",
    Need.MERGEABLE: "mergeable parts",
    Need.ANY_ROW: "rows only",
}


def promise_of(scheme: type[Any]) -> str:
    """What a scheme keeps, in words."""
    promise = getattr(scheme, "need", None)
    if not isinstance(promise, Need):  # it depends on the settings: a plain split is mergeable
        promise = Need.MERGEABLE
    return _PROMISES[promise]


def sections(described: type[Any]) -> dict[str, str]:
    """The parts of a docstring by name; complains if one is missing."""
    text = (inspect.getdoc(described) or "").split(">>>")[0].strip()
    pieces = re.split(r"^(When|Cost|Paper): ", text, flags=re.MULTILINE)
    found = {"what": pieces[0].strip(), **dict(zip(pieces[1::2], pieces[2::2], strict=True))}
    missing = [part for part in PARTS if part not in found]
    if missing:
        raise SystemExit(f"{described.__name__} has no {missing} in its docstring")
    return found


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())
