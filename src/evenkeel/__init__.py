"""evenkeel keeps keyed processing on Spark balanced.

The Spark part of the API is loaded when it is first used, so that `import evenkeel` needs neither
pyspark nor a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenkeel.aggregates import Aggregate
    from evenkeel.aggregates import Count as count
    from evenkeel.aggregates import Distinct as distinct
    from evenkeel.aggregates import Max as max
    from evenkeel.aggregates import Mean as mean
    from evenkeel.aggregates import Min as min
    from evenkeel.aggregates import Quantiles as quantiles
    from evenkeel.aggregates import Sum as sum
    from evenkeel.aggregates import TopK as top_k
    from evenkeel.partitioners.contract import Need
    from evenkeel.spark import streaming
    from evenkeel.spark.diagnosis import Diagnosis, diagnose
    from evenkeel.spark.grouping import groupBy
    from evenkeel.spark.joining import join
    from evenkeel.spark.mapping import mapInArrow, mapInPandas
    from evenkeel.spark.planning import Plan, plan
    from evenkeel.spark.repartitioning import repartition
    from evenkeel.spark.state_diagnosis import diagnose_state

__version__ = "0.1.0"

_HOMES = {
    "Aggregate": "evenkeel.aggregates",
    "Diagnosis": "evenkeel.spark.diagnosis",
    "Need": "evenkeel.partitioners.contract",
    "Plan": "evenkeel.spark.planning",
    "diagnose": "evenkeel.spark.diagnosis",
    "diagnose_state": "evenkeel.spark.state_diagnosis",
    "groupBy": "evenkeel.spark.grouping",
    "join": "evenkeel.spark.joining",
    "mapInArrow": "evenkeel.spark.mapping",
    "mapInPandas": "evenkeel.spark.mapping",
    "plan": "evenkeel.spark.planning",
    "repartition": "evenkeel.spark.repartitioning",
}
_MODULES = {"streaming": "evenkeel.spark.streaming"}
# As functions these read like Spark's: ek.count(), ek.top_k("url", 10).
_AGGREGATES = ("count", "distinct", "max", "mean", "min", "quantiles", "sum", "top_k")

__all__ = [
    "Aggregate",
    "Diagnosis",
    "Need",
    "Plan",
    "__version__",
    "count",
    "diagnose",
    "diagnose_state",
    "distinct",
    "groupBy",
    "join",
    "mapInArrow",
    "mapInPandas",
    "max",
    "mean",
    "min",
    "plan",
    "quantiles",
    "repartition",
    "streaming",
    "sum",
    "top_k",
]


def __getattr__(name: str) -> Any:
    if name in _AGGREGATES:
        return importlib.import_module("evenkeel.aggregates").ALL[name]
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'evenkeel' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
