"""Key statistics, tables and numbers of workers for hypothesis, and one planner of every kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from unskew.partitioners import ConsistentRing, KeyGrouping, RoutingTable
from unskew.rebalancing import ALL, KeyStatistics, Level, MinTable, Mixed, Readj, Rebalancer

HASHES = np.random.default_rng(11).integers(0, 2**64, 80, dtype=np.uint64)
HASHES[:2] = [0, 2**64 - 1]

PLANNERS: dict[str, Rebalancer] = {
    **{name: planner() for name, planner in ALL.items()},
    "level at 0": Level(theta=0.0, table=None),
    "level, 3 entries": Level(theta=0.05, table=3),
    "mixed, compact": Mixed(theta=0.02, table=10, r=2),
    "mintable, compact": MinTable(theta=0.0, r=0),
    "readj, quadratic": Readj(sigma=0.01, utility="atlm", computation="quadratic"),
}


@dataclass(frozen=True)
class Case:
    """What a planner is asked."""

    keys: KeyStatistics
    current: RoutingTable
    workers: int


@st.composite
def cases(draw: st.DrawFn, scaling: bool = True) -> Case:
    size = draw(st.integers(0, 60))
    amounts = st.lists(st.integers(0, 40), min_size=size, max_size=size)
    keys = KeyStatistics.of(
        HASHES[:size],
        cost=draw(amounts),
        memory=draw(amounts),
        unlisted=draw(st.sampled_from([0, 7])),
    )
    before = draw(st.integers(1, 6))
    kind = draw(st.sampled_from([KeyGrouping, ConsistentRing]))
    # Some entries are of keys without statistics.
    listed = np.unique(draw(st.lists(st.integers(0, 79), max_size=20))).astype(np.int64)
    owners = [draw(st.integers(0, before - 1)) for _ in listed]
    current = RoutingTable(before, HASHES[listed], np.array(owners, dtype=np.int32), kind(before))
    return Case(keys, current, draw(st.integers(1, 6)) if scaling else before)


def loads_under(table: RoutingTable, keys: KeyStatistics) -> np.ndarray:
    """The loads that a table makes, from nothing but its routes."""
    owner = table.router().route(keys.keys)
    listed = np.bincount(owner, weights=keys.cost, minlength=table.workers)
    return listed + keys.unlisted / table.workers
