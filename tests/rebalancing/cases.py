"""Strategies for Hypothesis: key statistics, tables, numbers of workers, planners."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np
from hypothesis import strategies as st

from unskew.partitioners import ConsistentRing, KeyGrouping, RoutingTable
from unskew.rebalancing import ALL, KeyStatistics, Rebalancer
from unskew.rebalancing.hash_pair import Utility
from unskew.rebalancing.resources import Growth

HASHES = np.random.default_rng(11).integers(0, 2**64, 80, dtype=np.uint64)
HASHES[:2] = [0, 2**64 - 1]

SETTINGS: dict[str, st.SearchStrategy[object]] = {
    "theta": st.sampled_from([0.08, 0.0, 0.02]),
    "table": st.sampled_from([3000, None, 3, 10]),
    "beta": st.sampled_from([1.5, 0.0, 4.0]),
    "r": st.sampled_from([None, 0, 2]),
    "sigma": st.sampled_from([0.1, 0.01, 1.0]),
    "alpha": st.sampled_from([1.2, 1.01]),
    "utility": st.sampled_from(get_args(Utility)),
    "state": st.sampled_from(get_args(Growth)),
    "computation": st.sampled_from(get_args(Growth)),
    "moves": st.sampled_from([5, 1]),
}


def planners(algorithm: str) -> st.SearchStrategy[Rebalancer]:
    """Planners of one algorithm with any settings."""
    kind: Any = ALL[algorithm]
    return st.builds(kind, **{field.name: SETTINGS[field.name] for field in fields(kind)})


@dataclass(frozen=True)
class Case:
    """The input of a planner."""

    keys: KeyStatistics
    current: RoutingTable
    workers: int


@st.composite
def cases(draw: st.DrawFn, scaling: bool = True) -> Case:
    size = draw(st.integers(0, 60))
    keys = KeyStatistics.of(
        HASHES[:size],
        cost=_below(41, draw(st.binary(min_size=size, max_size=size))),
        memory=_below(41, draw(st.binary(min_size=size, max_size=size))),
        unlisted=draw(st.sampled_from([0, 7])),
    )
    before = draw(st.integers(1, 6))
    kind = draw(st.sampled_from([KeyGrouping, ConsistentRing]))
    # Some entries are of keys without statistics.
    listed = np.unique(_below(80, draw(st.binary(max_size=20))))
    owners = _below(before, draw(st.binary(min_size=listed.size, max_size=listed.size)))
    current = RoutingTable(before, HASHES[listed], owners.astype(np.int32), kind(before))
    return Case(keys, current, draw(st.integers(1, 6)) if scaling else before)


def _below(bound: int, drawn: bytes) -> np.ndarray:
    """Numbers in 0..bound-1; bytes are many times cheaper to draw than lists of integers."""
    return np.frombuffer(drawn, dtype=np.uint8).astype(np.int64) % bound


def loads_under(table: RoutingTable, keys: KeyStatistics) -> np.ndarray:
    """The loads that a table makes, from nothing but its routes."""
    owner = table.router().route(keys.keys)
    listed = np.bincount(owner, weights=keys.cost, minlength=table.workers)
    return listed + keys.unlisted / table.workers
