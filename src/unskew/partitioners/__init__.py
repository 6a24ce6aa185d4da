"""Routing schemes, one file each: a key's hash becomes a worker."""

from __future__ import annotations

from unskew.errors import NeedError, UnknownNameError
from unskew.partitioners.adaptive_split import AdaptiveSplit
from unskew.partitioners.bounded_ring import BoundedRing
from unskew.partitioners.consistent_grouping import ConsistentGrouping
from unskew.partitioners.consistent_ring import ConsistentRing
from unskew.partitioners.contract import (
    FeedbackRouter,
    Need,
    Partitioner,
    Router,
    WorkerReport,
    need_named,
)
from unskew.partitioners.full_knowledge import FullKnowledge
from unskew.partitioners.head_choices import DChoices, WChoices
from unskew.partitioners.key_grouping import KeyGrouping
from unskew.partitioners.offline_greedy import OfflineGreedy
from unskew.partitioners.online_greedy import OnlineGreedy
from unskew.partitioners.partial_key import PartialKey
from unskew.partitioners.planned_split import PlannedSplit
from unskew.partitioners.proactive import Proactive
from unskew.partitioners.random_choices import RandomChoices
from unskew.partitioners.routing_table import RoutingTable
from unskew.partitioners.shuffle_grouping import ShuffleGrouping
from unskew.partitioners.static import StaticRoutes
from unskew.partitioners.static_two_choices import StaticTwoChoices
from unskew.partitioners.two_random_choices import TwoRandomChoices
from unskew.partitioners.weighted_grouping import WeightedGrouping

_SCHEMES: tuple[type[Partitioner], ...] = (
    KeyGrouping,
    ConsistentRing,
    WeightedGrouping,
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
    AdaptiveSplit,
    TwoRandomChoices,
    ShuffleGrouping,
    Proactive,
    FullKnowledge,
)

ALL: dict[str, type[Partitioner]] = {scheme.scheme: scheme for scheme in _SCHEMES}
"""Every scheme by its name, the strongest guarantee first. To stand here is to join the conformance
suite, the command line and the tables of the documentation."""


def scheme_named(scheme: str) -> type[Partitioner]:
    """The class of a scheme."""
    if scheme not in ALL:
        raise UnknownNameError("scheme", scheme, ALL)
    return ALL[scheme]


def need_of(scheme: str) -> Need:
    """The need that every partitioner of this scheme meets, whatever its settings.

    >>> need_of("planned-split")
    <Need.MERGEABLE: 'mergeable'>
    """
    need: object = scheme_named(scheme).need
    # A property where the settings decide whether keys are split at all.
    return need if isinstance(need, Need) else Need.MERGEABLE


PLANNED = tuple(name for name, kind in ALL.items() if kind.uses_frequencies)
"""Schemes that are made from the frequencies of the keys; on DataFrames `unskew.plan` measures
them."""


def legal_for(need: Need) -> list[str]:
    """The schemes that give the guarantee, and whose sources need not share a router."""
    return [name for name in ALL if need_of(name).keeps(need) and not _coordinated(name)]


def check_legal(scheme: str | Partitioner, need: Need | str) -> None:
    """Raise `NeedError` unless the scheme gives the guarantee that the work needs.

    The settings of a partitioner may make it stronger than its scheme is.

    >>> check_legal("pkg", "mergeable")
    >>> check_legal(PartialKey(workers=8, choices=1), "whole-key")
    """
    wanted = need_named(need)
    name, given = (
        (scheme, need_of(scheme)) if isinstance(scheme, str) else (scheme.scheme, scheme.need)
    )
    if not given.keeps(wanted):
        raise NeedError(
            f"{name} does not guarantee {wanted.value}; these schemes do: "
            f"{', '.join(legal_for(wanted))}"
        )


def _coordinated(scheme: str) -> bool:
    return scheme_named(scheme)(workers=2).coordinated  # type: ignore[call-arg]


__all__ = [
    "ALL",
    "PLANNED",
    "AdaptiveSplit",
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
    "StaticRoutes",
    "StaticTwoChoices",
    "TwoRandomChoices",
    "WChoices",
    "WeightedGrouping",
    "WorkerReport",
    "check_legal",
    "legal_for",
    "need_of",
    "scheme_named",
]
