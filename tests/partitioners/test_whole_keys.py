"""Schemes that keep keys whole, against their plain definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.partitioners.streams import POOL, streams

from unskew.errors import NeedError, ParameterError
from unskew.metrics import max_over_mean
from unskew.partitioners import (
    ConsistentRing,
    KeyGrouping,
    OfflineGreedy,
    OnlineGreedy,
    PartialKey,
    RoutingTable,
    StaticTwoChoices,
)
from unskew.sketches.key_counts import KeyCounts

HASHES = np.random.default_rng(3).integers(0, 2**64, 100_000, dtype=np.uint64)


@given(stream=streams, workers=st.integers(1, 10))
def test_online_greedy_gives_new_keys_to_a_least_loaded_worker(stream, workers):
    routes = OnlineGreedy(workers).router().route(stream)
    loads, owner = np.zeros(workers, dtype=np.int64), {}
    for key, worker in zip(stream.tolist(), routes.tolist(), strict=True):
        if key not in owner:
            assert loads[worker] == loads.min()
            owner[key] = worker
        assert owner[key] == worker
        loads[worker] += 1


@given(stream=streams, workers=st.integers(2, 10))
def test_static_two_choices_decides_once(stream, workers):
    """The first row of a key goes where partial key grouping would send it, the rest with it."""
    routes = StaticTwoChoices(workers).router().route(stream)
    loads, owner = np.zeros(workers, dtype=np.int64), {}
    for key, worker in zip(stream, routes.tolist(), strict=True):
        if key not in owner:
            choice = PartialKey(workers).router()
            choice.loads[:] = loads
            owner[key] = int(choice.route(np.array([key]))[0])
        assert owner[key] == worker
        loads[worker] += 1


@given(stream=streams, workers=st.integers(1, 10))
def test_offline_greedy_places_heaviest_first(stream, workers):
    counts = KeyCounts.of([stream])
    table = OfflineGreedy(workers, counts).table()
    owner = dict(zip(table.keys.tolist(), table.owners.tolist(), strict=True))
    loads = [0] * workers
    for key, rows in zip(counts.keys.tolist(), counts.counts.tolist(), strict=True):
        assert loads[owner[key]] == min(loads)
        loads[owner[key]] += rows


@pytest.mark.parametrize("workers", [1, 2, 7, 40])
def test_another_worker_takes_keys_and_nothing_else_moves(workers):
    before = ConsistentRing(workers).router().route(HASHES)
    after = ConsistentRing(workers + 1).router().route(HASHES)
    assert (after[before != after] == workers).all()
    assert (before != after).any()


@pytest.mark.parametrize("scheme", [KeyGrouping, ConsistentRing])
def test_hashes_spread_evenly(scheme):
    loads = np.bincount(scheme(50).router().route(HASHES), minlength=50)
    assert max_over_mean(loads) < 1.15


@pytest.mark.parametrize("arcs", [0, 3, 4, 2**29])
def test_arcs_are_a_power_of_two_and_enough(arcs):
    with pytest.raises(ParameterError, match=f"arcs={arcs}"):
        ConsistentRing(workers=8, arcs=arcs)


def test_one_arc_is_too_few():
    """A shift by all 64 bits has no meaning, and read memory that is not the table's."""
    with pytest.raises(ParameterError, match=r"arcs=1 is not a power of two in 2\.\."):
        ConsistentRing(workers=1, arcs=1)


def table_of(workers=3, **changes):
    fields = {"keys": POOL[:2], "owners": np.array([0, 2], dtype=np.int32), **changes}
    return RoutingTable(workers, **fields)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"owners": np.array([0, 3], dtype=np.int32)}, r"owners 0\.\.3 are not all in 0\.\.2"),
        ({"owners": np.array([0], dtype=np.int32)}, "2 keys and 1 owners"),
        ({"keys": POOL[[1, 1]]}, "in the table twice"),
        ({"max_entries": 1}, "exceeds max_entries=1"),
        ({"base": KeyGrouping(4)}, "base.workers=4 must equal workers=3"),
    ],
)
def test_a_bad_table_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        table_of(**changes)


@pytest.mark.parametrize("base", [PartialKey(3), OnlineGreedy(3)], ids=repr)
def test_a_table_keeps_keys_whole_only_over_a_base_that_does(base):
    with pytest.raises(NeedError, match="use kg or ring"):
        table_of(base=base)


def test_a_table_cannot_be_changed():
    table = table_of()
    with pytest.raises(ValueError, match="read-only"):
        table.owners[0] = 1


def test_the_order_of_entries_does_not_matter():
    assert table_of() == table_of(keys=POOL[[1, 0]], owners=np.array([2, 0], dtype=np.int32))
