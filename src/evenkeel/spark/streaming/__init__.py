"""The verbs on streams: `ek.streaming`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenkeel.spark.streaming.feeds import read_lines
from evenkeel.spark.streaming.grouping import GroupedStream, groupBy
from evenkeel.spark.streaming.progress import BatchProgress
from evenkeel.spark.streaming.watching import BatchListener, batches, watch

if TYPE_CHECKING:
    from evenkeel.spark.state.processor import Processor
    from evenkeel.spark.state.reading import read_state
    from evenkeel.spark.state.stream import StatefulStream, stateful

# Loaded when first used: they themselves write the records of this package.
_HOMES = {
    "Processor": "evenkeel.spark.state.processor",
    "StatefulStream": "evenkeel.spark.state.stream",
    "read_state": "evenkeel.spark.state.reading",
    "stateful": "evenkeel.spark.state.stream",
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
        raise AttributeError(f"module 'evenkeel.streaming' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
