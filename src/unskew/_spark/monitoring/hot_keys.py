"""The keys that weigh most in a micro-batch, as text, small enough to go with every report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.display import printable

HOTTEST = 10
"""Keys that a task names, and a record."""

Weight = tuple[str, float]


def top(weights: NDArray[Any]) -> list[int]:
    """Where the heaviest are, the heaviest first.

    >>> top(np.array([1, 5, 3]))
    [1, 2, 0]
    """
    found = np.arange(weights.size)
    if weights.size > HOTTEST:
        found = np.argpartition(-weights, HOTTEST)[:HOTTEST]
    places: list[int] = found[np.argsort(-weights[found], kind="stable")].tolist()
    return places


def key_at(columns: Sequence[pa.Array], place: int) -> str:
    """One key as it is shown. Two long keys may look the same; they then count as one."""
    return printable(", ".join(printable(_value(column[place])) for column in columns))


def heaviest(weights: Mapping[str, float]) -> tuple[Weight, ...]:
    """The keys that a record names."""
    return tuple(Counter(weights).most_common(HOTTEST))


def to_text(weights: Mapping[str, float]) -> str:
    """As a task reports it: text, for Spark Connect hands no nested rows on."""
    return json.dumps(heaviest(weights))


def from_tasks(texts: Iterable[str | None]) -> tuple[Weight, ...]:
    """Of all tasks together. A key on several workers counts with all its parts."""
    together: Counter[str] = Counter()
    for text in texts:
        together.update(dict(json.loads(text or "[]")))
    return heaviest(together)


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return f"({scalar.type})"  # Python has no such date; the batch must not fail for that.
