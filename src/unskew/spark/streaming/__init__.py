"""The verbs on streams: `unskew.streaming`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unskew.spark.streaming.feeds import read_lines
from unskew.spark.streaming.grouping import GroupedStream, groupBy
from unskew.spark.streaming.progress import BatchProgress
from unskew.spark.streaming.watching import BatchListener, batches, watch

if TYPE_CHECKING:
    from unskew.spark.state.processor import Processor
    from unskew.spark.state.reading import read_state
    from unskew.spark.state.stream import StatefulStream, stateful

# Loaded when first used: they themselves write the records of this package.
_HOMES = {
    "Processor": "unskew.spark.state.processor",
    "StatefulStream": "unskew.spark.state.stream",
    "read_state": "unskew.spark.state.reading",
    "stateful": "unskew.spark.state.stream",
}

__all__ = [
    "BatchListener",
    "BatchProgress",
    "GroupedStream",
    "Processor",
    "StatefulStream",
    "batches",
    "groupBy",
    "read_lines",
    "read_state",
    "stateful",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unskew.streaming' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
