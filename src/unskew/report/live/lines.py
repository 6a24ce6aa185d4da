"""The record file of a stream: where it is and what a record holds.

Nothing here imports Spark: the page starts at once, and where no Java is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unskew.display import printable
from unskew.errors import InputError

LINES = "batches.jsonl"
"""As `unskew.streaming.watch` and `unskew.streaming.stateful` call it."""

FIGURES = (
    "batch",
    "rows",
    "seconds",
    "workers",
    "max_over_mean",
    "replicas",
    "table_size",
    "migrated_keys",
    "migrated_bytes",
    "rebalance_seconds",
    "ended",
)
"""The numbers of a record that are drawn over time."""

_DEPTH = 3
_HOW = "create it with unskew.streaming.watch(spark, folder=...) before the query starts"


def lines_file(where: Path) -> Path:
    """The file of records in a folder, or below a checkpoint."""
    if where.is_file():
        return where
    if not where.is_dir():
        raise InputError(f"folder not found: {where}; give the stream's checkpoint, or the folder "
                         "that unskew.streaming.watch writes to")  # fmt: skip
    for depth in range(_DEPTH):
        found = sorted(where.glob("*/" * depth + LINES))
        if len(found) > 1:
            names = ", ".join(str(path.parent) for path in found)
            raise InputError(f"{where} has several streams; give one of {names}")
        if found:
            return found[0]
    raise InputError(f"no {LINES} in {where} nor below it; {_HOW}")


def records(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The records of whole lines; a line truncated by a crash is skipped."""
    for line in lines:
        try:
            record = json.loads(line)
            yield {
                **{name: _number(record.get(name)) for name in FIGURES},
                "batch": int(record["batch"]),
                "loads": [_number(load) or 0 for load in record["loads"]],
                "hottest": [(key, _number(load) or 0) for key, load in record.get("hottest", ())],
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            continue


def presented(record: dict[str, Any]) -> dict[str, Any]:
    """A record with printable keys; made only for records that are displayed."""
    return {**record, "hottest": [(printable(key), load) for key, load in record["hottest"]]}


def _number(value: Any) -> float | None:
    """A finite number, or None for anything else in the file."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < float("inf") else None
