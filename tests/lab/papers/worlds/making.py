"""Rows of made-up measurements, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from unskew_lab.papers.specification import Row

Rows = list[dict[str, Any]]
Change = Callable[[Rows], Rows]


@dataclass(frozen=True)
class World:
    """The rows of a figure as the paper has them; for parts of claims, changes against them."""

    rows: Rows
    against: Sequence[tuple[str, Change]]


def grid(columns: Mapping[str, Sequence[Any]], **values: Any) -> Rows:
    """A row for every combination of the columns; values may depend on the row."""
    found = []
    for cells in product(*columns.values()):
        row: dict[str, Any] = dict(zip(columns, cells, strict=True))
        for name, value in values.items():
            row[name] = value(row) if callable(value) else value
        found.append(row)
    return found


def matches(row: Row, wanted: Mapping[str, Any]) -> bool:
    """Whether a row has these values, or one of several."""
    return all(
        row.get(name) in value if isinstance(value, tuple) else row.get(name) == value
        for name, value in wanted.items()
    )


def put(wanted: Mapping[str, Any], **new: Any) -> Change:
    """Other values in the rows that match; a value may depend on the row."""

    def change(rows: Rows) -> Rows:
        return [
            {**row, **{k: v(row) if callable(v) else v for k, v in new.items()}}
            if matches(row, wanted)
            else row
            for row in rows
        ]

    return change


def times(factor: float, column: str, **wanted: Any) -> Change:
    """A column multiplied in the rows that match."""
    return put(wanted, **{column: lambda row: row[column] * factor})


def timeline(
    scheme: str,
    queue: float = 4,
    grows: bool = False,
    spread: float = 0.04,
    imbalance: float = 0.02,
    stream: str = "WP-like",
    samples: int = 60,
) -> Rows:
    """A run with queues: they stay, or grow to what is given."""
    return [
        {
            "stream": stream,
            "scheme": scheme,
            "hours": number / 10,
            "messages": number * 1000,
            "queue_max": (level := queue * number / samples if grows else queue),
            "queue_spread": level,
            "latency_spread": level / 20,
            "utilisation_spread": spread,
            "imbalance": imbalance,
            "settled": spread,
            "peak": int(queue),
            "replicas": 1000,
        }
        for number in range(1, samples + 1)
    ]
