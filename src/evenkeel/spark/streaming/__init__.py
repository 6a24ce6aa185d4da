"""The verbs on streams: `ek.streaming`."""

from __future__ import annotations

from evenkeel.spark.streaming.feeds import read_lines
from evenkeel.spark.streaming.grouping import GroupedStream, groupBy
from evenkeel.spark.streaming.progress import BatchProgress
from evenkeel.spark.streaming.watching import BatchListener, watch

__all__ = ["BatchListener", "BatchProgress", "GroupedStream", "groupBy", "read_lines", "watch"]
