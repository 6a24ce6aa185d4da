"""The hot keys of a micro-batch as text, few enough to go with every report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.display import printable

HOT_KEYS = 10
"""Hot keys reported per task and kept per progress record."""

Weight = tuple[str, float]


def top(weights: NDArray[Any]) -> list[int]:
    """The positions of the largest weights, the largest first.

    >>> top(np.array([1, 5, 3]))
    [1, 2, 0]
    """
    found = np.arange(weights.size)
    if weights.size > HOT_KEYS:
        found = np.argpartition(-weights, HOT_KEYS)[:HOT_KEYS]
    places: list[int] = found[np.argsort(-weights[found], kind="stable")].tolist()
    return places


def key_at(columns: Sequence[pa.Array], place: int) -> str:
    """One key as text. Long keys are cut; two that look the same count as one."""
    return printable(", ".join(printable(_value(column[place])) for column in columns))


def most_loaded(weights: Mapping[str, float]) -> tuple[Weight, ...]:
    """The keys of a progress record."""
    return tuple(Counter(weights).most_common(HOT_KEYS))


def to_text(weights: Mapping[str, float]) -> str:
    """The report of a task, as JSON: Spark Connect passes no nested rows on."""
    return json.dumps(most_loaded(weights))


def from_tasks(texts: Iterable[str | None]) -> tuple[Weight, ...]:
    """The hot keys of all tasks together; the loads of a key on several workers are added."""
    together: Counter[str] = Counter()
    for text in texts:
        together.update(dict(json.loads(text or "[]")))
    return most_loaded(together)


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return f"({scalar.type})"  # Python has no such date; the batch must not fail for that.
