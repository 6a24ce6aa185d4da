"""The sort order of values: Python's, with NaN above every number as in Spark."""

from __future__ import annotations

from typing import Any


def ordered(value: Any) -> tuple[bool, Any]:
    """Sort key of a value.

    >>> max([1.0, float("nan"), 2.0], key=ordered)
    nan
    """
    is_nan = isinstance(value, float) and value != value
    return is_nan, 0.0 if is_nan else value
