"""unskew keeps keyed processing on Spark balanced.

The Spark part of the API is loaded when it is first used, so that `import unskew` needs neither
pyspark nor a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew.aggregates import Aggregate
    from unskew.aggregates import Count as count
    from unskew.aggregates import Distinct as distinct
    from unskew.aggregates import Max as max
    from unskew.aggregates import Mean as mean
    from unskew.aggregates import Min as min
    from unskew.aggregates import Quantiles as quantiles
    from unskew.aggregates import Sum as sum
    from unskew.aggregates import TopK as top_k
    from unskew.partitioners.contract import Need
    from unskew.spark import streaming
    from unskew.spark.diagnosis import Diagnosis, diagnose
    from unskew.spark.grouping import groupBy
    from unskew.spark.joining import join
    from unskew.spark.mapping import mapInArrow, mapInPandas
    from unskew.spark.planning import Plan, plan
    from unskew.spark.repartitioning import repartition
    from unskew.spark.state_diagnosis import diagnose_state

__version__ = "0.1.0"

_HOMES = {
    "Aggregate": "unskew.aggregates",
    "Diagnosis": "unskew.spark.diagnosis",
    "Need": "unskew.partitioners.contract",
    "Plan": "unskew.spark.planning",
    "diagnose": "unskew.spark.diagnosis",
    "diagnose_state": "unskew.spark.state_diagnosis",
    "groupBy": "unskew.spark.grouping",
    "join": "unskew.spark.joining",
    "mapInArrow": "unskew.spark.mapping",
    "mapInPandas": "unskew.spark.mapping",
    "plan": "unskew.spark.planning",
    "repartition": "unskew.spark.repartitioning",
}
_MODULES = {"streaming": "unskew.spark.streaming"}
# As functions these read like Spark's: unskew.count(), unskew.top_k("url", 10).
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
        return importlib.import_module("unskew.aggregates").ALL[name]
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'unskew' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
