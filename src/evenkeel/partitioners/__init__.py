"""Routing schemes, one file each: a key's hash becomes a worker."""

from __future__ import annotations

from evenkeel.partitioners.bounded_ring import BoundedRing
from evenkeel.partitioners.consistent_grouping import ConsistentGrouping
from evenkeel.partitioners.consistent_ring import ConsistentRing
from evenkeel.partitioners.contract import (
    FeedbackRouter,
    Need,
    Partitioner,
    Router,
    WorkerReport,
)
from evenkeel.partitioners.full_knowledge import FullKnowledge
from evenkeel.partitioners.head_choices import DChoices, WChoices
from evenkeel.partitioners.key_grouping import KeyGrouping
from evenkeel.partitioners.offline_greedy import OfflineGreedy
from evenkeel.partitioners.online_greedy import OnlineGreedy
from evenkeel.partitioners.partial_key import PartialKey
from evenkeel.partitioners.planned_split import PlannedSplit
from evenkeel.partitioners.proactive import Proactive
from evenkeel.partitioners.random_choices import RandomChoices
from evenkeel.partitioners.routing_table import RoutingTable
from evenkeel.partitioners.shuffle_grouping import ShuffleGrouping
from evenkeel.partitioners.static_two_choices import StaticTwoChoices
from evenkeel.partitioners.two_random_choices import TwoRandomChoices

_SCHEMES: tuple[type[Partitioner], ...] = (
    KeyGrouping,
    ConsistentRing,
    RoutingTable,
    StaticTwoChoices,
    OnlineGreedy,
    OfflineGreedy,
    PartialKey,
    WChoices,
    DChoices,
    RandomChoices,
    BoundedRing,
    ConsistentGrouping,
    PlannedSplit,
    TwoRandomChoices,
    ShuffleGrouping,
    Proactive,
    FullKnowledge,
)

ALL: dict[str, type[Partitioner]] = {scheme.scheme: scheme for scheme in _SCHEMES}
"""Every scheme by its name, the strongest promise first. To stand here is to join the conformance
suite, the command line and the tables of the documentation."""

__all__ = [
    "ALL",
    "BoundedRing",
    "ConsistentGrouping",
    "ConsistentRing",
    "DChoices",
    "FeedbackRouter",
    "FullKnowledge",
    "KeyGrouping",
    "Need",
    "OfflineGreedy",
    "OnlineGreedy",
    "PartialKey",
    "Partitioner",
    "PlannedSplit",
    "Proactive",
    "RandomChoices",
    "Router",
    "RoutingTable",
    "ShuffleGrouping",
    "StaticTwoChoices",
    "TwoRandomChoices",
    "WChoices",
    "WorkerReport",
]
