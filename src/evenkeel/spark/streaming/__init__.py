"""The verbs on streams: `ek.streaming`."""

from __future__ import annotations

from evenkeel.spark.streaming.grouping import GroupedStream, groupBy
from evenkeel.spark.streaming.progress import BatchProgress

__all__ = ["BatchProgress", "GroupedStream", "groupBy"]
