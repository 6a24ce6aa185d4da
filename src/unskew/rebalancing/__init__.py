"""Planners for whole keys, one file each: statistics become a new table and a migration."""

from __future__ import annotations

from unskew.rebalancing.contract import Rebalancer
from unskew.rebalancing.level import Level
from unskew.rebalancing.llfd import LeastLoadFitDecreasing
from unskew.rebalancing.min_mig import MinMig
from unskew.rebalancing.min_table import MinTable
from unskew.rebalancing.mixed import Mixed
from unskew.rebalancing.mixed_bf import MixedBruteForce
from unskew.rebalancing.readj import Readj
from unskew.rebalancing.rebalance import Migration, Rebalance, Stop
from unskew.rebalancing.redist import Redist
from unskew.rebalancing.scan import Scan
from unskew.rebalancing.simple import Simple
from unskew.rebalancing.statistics import KeyStatistics

ALL: dict[str, type[Rebalancer]] = {
    planner.algorithm: planner
    for planner in (
        LeastLoadFitDecreasing,
        MinTable,
        MinMig,
        Mixed,
        MixedBruteForce,
        Simple,
        Scan,
        Redist,
        Readj,
        Level,
    )
}
"""Every algorithm by its name. Every algorithm listed here joins the conformance suite."""

__all__ = [
    "ALL",
    "KeyStatistics",
    "LeastLoadFitDecreasing",
    "Level",
    "Migration",
    "MinMig",
    "MinTable",
    "Mixed",
    "MixedBruteForce",
    "Readj",
    "Rebalance",
    "Rebalancer",
    "Redist",
    "Scan",
    "Simple",
    "Stop",
]
