"""unskew keeps keyed processing on Spark balanced.

The Spark part of the API is loaded when it is first used, so that `import unskew` needs neither
pyspark nor a compiler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unskew import streaming
    from unskew._spark.diagnosis.keys import Diagnosis, diagnose
    from unskew._spark.diagnosis.state import diagnose_state
    from unskew._spark.planning.join import JoinPlan
    from unskew._spark.planning.memory import remember
    from unskew._spark.planning.notices import explain, plan_of, verbose
    from unskew._spark.planning.plan import Plan
    from unskew._spark.verbs.group_by import groupBy
    from unskew._spark.verbs.join import join, plan_join
    from unskew._spark.verbs.map import mapInArrow, mapInPandas
    from unskew._spark.verbs.plan import plan
    from unskew._spark.verbs.repartition import repartition
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

__version__ = "0.1.0"

_HOMES = {
    "Aggregate": "unskew.aggregates",
    "Diagnosis": "unskew._spark.diagnosis.keys",
    "Need": "unskew.partitioners.contract",
    "JoinPlan": "unskew._spark.planning.join",
    "Plan": "unskew._spark.planning.plan",
    "diagnose": "unskew._spark.diagnosis.keys",
    "diagnose_state": "unskew._spark.diagnosis.state",
    "explain": "unskew._spark.planning.notices",
    "groupBy": "unskew._spark.verbs.group_by",
    "join": "unskew._spark.verbs.join",
    "mapInArrow": "unskew._spark.verbs.map",
    "mapInPandas": "unskew._spark.verbs.map",
    "plan": "unskew._spark.verbs.plan",
    "plan_join": "unskew._spark.verbs.join",
    "plan_of": "unskew._spark.planning.notices",
    "remember": "unskew._spark.planning.memory",
    "repartition": "unskew._spark.verbs.repartition",
    "verbose": "unskew._spark.planning.notices",
}
_MODULES = {"streaming": "unskew.streaming"}
# As functions these read like Spark's: unskew.count(), unskew.top_k("url", 10).
_AGGREGATES = ("count", "distinct", "max", "mean", "min", "quantiles", "sum", "top_k")

__all__ = [
    "Aggregate",
    "Diagnosis",
    "JoinPlan",
    "Need",
    "Plan",
    "__version__",
    "count",
    "diagnose",
    "diagnose_state",
    "distinct",
    "explain",
    "groupBy",
    "join",
    "mapInArrow",
    "mapInPandas",
    "max",
    "mean",
    "min",
    "plan",
    "plan_join",
    "plan_of",
    "quantiles",
    "remember",
    "repartition",
    "streaming",
    "sum",
    "top_k",
    "verbose",
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
