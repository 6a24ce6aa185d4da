"""Planners for whole keys, one file each: statistics become a new table and a migration."""

from __future__ import annotations

from evenkeel.rebalancing.contract import Rebalancer
from evenkeel.rebalancing.level import Level
from evenkeel.rebalancing.llfd import LeastLoadFitDecreasing
from evenkeel.rebalancing.min_mig import MinMig
from evenkeel.rebalancing.min_table import MinTable
from evenkeel.rebalancing.mixed import Mixed
from evenkeel.rebalancing.mixed_bf import MixedBruteForce
from evenkeel.rebalancing.readj import Readj
from evenkeel.rebalancing.rebalance import Migration, Rebalance, Stop
from evenkeel.rebalancing.redist import Redist
from evenkeel.rebalancing.scan import Scan
from evenkeel.rebalancing.simple import Simple
from evenkeel.rebalancing.statistics import KeyStatistics

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
"""Every algorithm by its name. To stand here is to join the conformance suite."""

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
