"""Which keys change worker: as the routers of both tables say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.stateful.moves import Moves
from unskew.partitioners import ConsistentRing, KeyGrouping, RoutingTable

KEYS = np.random.default_rng(3).integers(0, 2**64, 400, dtype=np.uint64)


def table(workers, seed, base) -> RoutingTable:
    draw = np.random.default_rng(seed)
    keys = draw.choice(KEYS, 20 * (seed % 3), replace=False)
    return RoutingTable(workers, keys, draw.integers(0, workers, keys.size), base(workers))


bases = st.sampled_from([ConsistentRing, KeyGrouping])


@given(st.integers(1, 5), st.integers(1, 5), bases, bases, st.integers(0, 50), st.integers(0, 50))
def test_every_key_goes_where_the_new_table_sends_it(old, new, base, other, one, two):
    before, after = table(old, one, base), table(new, two, other)
    moves = Moves.between(before, after)
    sources, targets = (each.router().route(KEYS) for each in (before, after))
    if moves is None:
        assert (sources == targets).all()
        return
    for worker in range(old):
        here = KEYS[sources == worker].view(np.int64)
        assert (moves.targets_of(here, worker) == targets[sources == worker]).all()
        if moves.base is None:
            assert set(moves.from_worker(worker)) == set(here[targets[sources == worker] != worker])


@pytest.mark.parametrize("workers", [4, 15])
def test_a_new_worker_takes_its_share_and_nothing_else_moves(workers):
    before, after = (RoutingTable(n, base=ConsistentRing(n)) for n in (workers, workers + 1))
    moves = Moves.between(before, after)
    keys = np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64)
    sources = before.router().route(keys)
    moved = 0
    for worker in range(workers):
        here = keys[sources == worker].view(np.int64)
        targets = moves.targets_of(here, worker)
        assert set(targets) <= {worker, workers}
        moved += int((targets != worker).sum())
    assert moved <= 1.3 * keys.size / (workers + 1)
