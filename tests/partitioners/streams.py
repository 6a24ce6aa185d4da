"""Streams of key hashes for hypothesis, and partitioners of every kind."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from unskew.partitioners import (
    ALL,
    AdaptiveSplit,
    ConsistentGrouping,
    ConsistentRing,
    FullKnowledge,
    KeyGrouping,
    OfflineGreedy,
    PartialKey,
    PlannedSplit,
    Proactive,
    RandomChoices,
    RoutingTable,
    StaticTwoChoices,
    TwoRandomChoices,
    WeightedGrouping,
)
from unskew.partitioners.contract import KeyHashes, Partitioner
from unskew.partitioners.full_knowledge import KeyCosts
from unskew.sketches.cost_pair import CostPair, CostShape
from unskew.sketches.key_counts import KeyCounts

POOL = np.random.default_rng(7).integers(0, 2**64, 64, dtype=np.uint64)
"""Hashes like those of real keys; and both ends of the range, where shifts and signs go wrong."""
POOL[:3] = [0, 2**63, 2**64 - 1]


def _stream(ranks: list[int]) -> KeyHashes:
    # The product of two uniform ranks is skewed towards the low ones.
    return POOL[np.array(ranks, dtype=np.int64).reshape(-1)]


streams = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 9)).map(lambda pair: pair[0] * pair[1]),
    max_size=300,
).map(_stream)


def _with_settings() -> list[Partitioner]:
    counts = KeyCounts(POOL[:20], np.arange(20, dtype=np.int64))
    owners = (np.arange(10) % 7).astype(np.int32)
    costs = np.arange(20) ** 2 + 1.0
    weighted = WeightedGrouping(7, np.array([6, 0, 2]), np.array([5, 0, 3]))
    learned = CostPair(CostShape(epsilon=0.5))
    learned.add(POOL[:20], costs)
    return [
        PartialKey(7, choices=5),
        PartialKey(7, choices=1),
        PartialKey(7, choices=9, distinct=False),
        PartialKey(7, estimate="global"),
        PartialKey(7, estimate="probing", period=10),
        StaticTwoChoices(7, distinct=False),
        TwoRandomChoices(7, distinct=False, seed=1),
        RandomChoices(7, epsilon=0.5),
        RandomChoices(7, distinct=False),
        ConsistentGrouping(7, virtual=1),
        ConsistentGrouping(7, distinct=False),
        ConsistentGrouping(7, window=13),
        ConsistentRing(7, replicas=1, arcs=8),
        weighted,
        OfflineGreedy(7, counts),
        PlannedSplit(7, counts=counts),
        PlannedSplit(200, counts=counts),
        AdaptiveSplit(7, interval=50),
        AdaptiveSplit(7, PlannedSplit(7, counts=counts), interval=20, counters=5),
        AdaptiveSplit(1, interval=10),
        RoutingTable(7, POOL[:10], owners, base=ConsistentRing(7)),
        RoutingTable(7, POOL[:10], owners, base=weighted),
        RoutingTable(7, POOL[:10], owners, base=KeyGrouping(7), max_entries=10),
        Proactive(7, epsilon=0.5, learned=learned.learned()),
        FullKnowledge(7, KeyCosts(POOL[:20], costs)),
        FullKnowledge(3, KeyCosts(POOL[:20], costs), factors=np.array([1.0, 2.0, 0.5])),
    ]


SETTINGS = _with_settings()
"""Partitioners with settings that are not the default."""


def examples(scheme: str, workers: int) -> list[Partitioner]:
    """A scheme with `workers`, with one, and with every kind of settings."""
    kind = ALL[scheme]
    plain: list[Partitioner] = [kind(workers=number) for number in (workers, 1)]  # type: ignore[call-arg]
    return [*plain, *(partitioner for partitioner in SETTINGS if partitioner.scheme == scheme)]


workers = st.integers(2, 200)
"""Fewer or more than there are keys in the pool."""

partitioners = st.sampled_from([each for scheme in ALL for each in examples(scheme, workers=7)])
