"""Routing schemes, one file each: a key's hash becomes a worker."""

from __future__ import annotations

from evenkeel.partitioners.contract import (
    FeedbackRouter,
    Need,
    Partitioner,
    Router,
    WorkerReport,
)
from evenkeel.partitioners.key_grouping import KeyGrouping
from evenkeel.partitioners.partial_key import PartialKey

ALL: dict[str, type[Partitioner]] = {
    partitioner.scheme: partitioner for partitioner in (KeyGrouping, PartialKey)
}
"""Every scheme by its name. To stand here is to join the conformance suite."""

__all__ = [
    "ALL",
    "FeedbackRouter",
    "KeyGrouping",
    "Need",
    "PartialKey",
    "Partitioner",
    "Router",
    "WorkerReport",
]
