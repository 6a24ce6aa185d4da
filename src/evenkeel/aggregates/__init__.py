"""Aggregates whose partial results merge, one file each: zero, add, merge, result."""

from __future__ import annotations

from evenkeel.aggregates.contract import Aggregate, State
from evenkeel.aggregates.count import Count
from evenkeel.aggregates.distinct import Distinct
from evenkeel.aggregates.extremes import Max, Min
from evenkeel.aggregates.mean import Mean
from evenkeel.aggregates.quantiles import Quantiles
from evenkeel.aggregates.sum import Sum
from evenkeel.aggregates.top_k import TopK

ALL: dict[str, type[Aggregate]] = {
    "count": Count,
    "sum": Sum,
    "mean": Mean,
    "min": Min,
    "max": Max,
    "top_k": TopK,
    "distinct": Distinct,
    "quantiles": Quantiles,
}
"""Every aggregate by its public name; each can be built from a column alone. To stand here is to
join the conformance suite."""

__all__ = [
    "ALL",
    "Aggregate",
    "Count",
    "Distinct",
    "Max",
    "Mean",
    "Min",
    "Quantiles",
    "State",
    "Sum",
    "TopK",
]
