"""Aggregates whose partial results merge, one file each: zero, add, merge, result."""

from __future__ import annotations

from unskew.aggregates.contract import Aggregate, State
from unskew.aggregates.count import Count
from unskew.aggregates.distinct import Distinct
from unskew.aggregates.extremes import Max, Min
from unskew.aggregates.mean import Mean
from unskew.aggregates.quantiles import Quantiles
from unskew.aggregates.sum import Sum
from unskew.aggregates.top_k import TopK

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
"""Every aggregate by its public name; each can be built from a column alone. All listed here
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
