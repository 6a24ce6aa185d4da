"""Tests of jobs on skewed data: a local session, generators, assertions; in `cluster` a cluster.

Names are loaded on first use: a task that emulates work needs neither numba nor Spark's functions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew._spark.session import local_session
    from unskew.testing.assertions import assert_balanced, assert_same_result
    from unskew.testing.cluster.emulation import emulated_work, machine_speed
    from unskew.testing.cluster.local_cluster import LocalCluster, Machine
    from unskew.testing.cluster.processes import stop_on_sigterm
    from unskew.testing.generators import one_hot_key, skewed

_PLACES = {
    "LocalCluster": "unskew.testing.cluster.local_cluster",
    "Machine": "unskew.testing.cluster.local_cluster",
    "assert_balanced": "unskew.testing.assertions",
    "assert_same_result": "unskew.testing.assertions",
    "emulated_work": "unskew.testing.cluster.emulation",
    "local_session": "unskew._spark.session",
    "machine_speed": "unskew.testing.cluster.emulation",
    "one_hot_key": "unskew.testing.generators",
    "skewed": "unskew.testing.generators",
    "stop_on_sigterm": "unskew.testing.cluster.processes",
}

__all__ = [
    "LocalCluster",
    "Machine",
    "assert_balanced",
    "assert_same_result",
    "emulated_work",
    "local_session",
    "machine_speed",
    "one_hot_key",
    "skewed",
    "stop_on_sigterm",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
