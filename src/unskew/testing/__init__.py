"""For the tests of jobs on skewed data: generators, assertions, and a cluster of processes.

Loaded when first used: a task that emulates work needs neither a compiler nor Spark's functions.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.testing.assertions import assert_balanced, assert_same_result
    from unskew.testing.emulation import emulated_work, machine_speed
    from unskew.testing.generators import one_hot_key, skewed
    from unskew.testing.local_cluster import LocalCluster, Machine

_PLACES = {
    "LocalCluster": "local_cluster",
    "Machine": "local_cluster",
    "assert_balanced": "assertions",
    "assert_same_result": "assertions",
    "emulated_work": "emulation",
    "machine_speed": "emulation",
    "one_hot_key": "generators",
    "skewed": "generators",
}

__all__ = [
    "LocalCluster",
    "Machine",
    "assert_balanced",
    "assert_same_result",
    "emulated_work",
    "machine_speed",
    "one_hot_key",
    "skewed",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
