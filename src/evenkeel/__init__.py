"""evenkeel keeps keyed processing on Spark balanced.

The Spark part of the API is loaded when it is first used, so that `import evenkeel` needs neither
pyspark nor a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenkeel.partitioners.contract import Need
    from evenkeel.spark.diagnosis import Diagnosis, diagnose
    from evenkeel.spark.planning import Plan, plan

__version__ = "0.1.0"

_HOMES = {
    "Diagnosis": "evenkeel.spark.diagnosis",
    "Need": "evenkeel.partitioners.contract",
    "Plan": "evenkeel.spark.planning",
    "diagnose": "evenkeel.spark.diagnosis",
    "plan": "evenkeel.spark.planning",
}

__all__ = ["Diagnosis", "Need", "Plan", "__version__", "diagnose", "plan"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evenkeel' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
