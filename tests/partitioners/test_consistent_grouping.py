from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.partitioners import ConsistentGrouping, WorkerReport

some_workers = st.lists(st.integers(0, 4), max_size=6)


def report(busy=(), idle=()):
    return WorkerReport(busy=np.array(busy, dtype=np.int32), idle=np.array(idle, dtype=np.int32))


def virtual_workers(router, workers):
    return np.bincount(router.owners, minlength=workers).tolist()


def test_a_busy_worker_waits_for_an_idle_one():
    router = ConsistentGrouping(3, virtual=4).router()
    router.learn(report(busy=[2]))
    assert virtual_workers(router, 3) == [4, 4, 4]
    router.learn(report(idle=[0]))
    assert virtual_workers(router, 3) == [5, 4, 3]


def test_pairs_are_first_come_first_served():
    router = ConsistentGrouping(4, virtual=4).router()
    router.learn(report(busy=[3, 1]))
    router.learn(report(idle=[2]))
    assert virtual_workers(router, 4) == [4, 4, 5, 3]
    assert list(router.busy) == [1]


def test_the_newest_signal_of_a_worker_counts():
    router = ConsistentGrouping(2, virtual=4).router()
    router.learn(report(busy=[0]))
    router.learn(report(idle=[0]))
    router.learn(report(busy=[1]))
    assert virtual_workers(router, 2) == [5, 3]


def test_a_worker_that_stays_busy_probes_one_that_is_not():
    router = ConsistentGrouping(3, virtual=4).router()
    router.learn(report(busy=[2]))
    router.learn(report(busy=[2, 0]))
    assert virtual_workers(router, 3) == [4, 5, 3]


def test_without_probing_it_waits_on():
    router = ConsistentGrouping(3, virtual=4, probing=False).router()
    for _ in range(3):
        router.learn(report(busy=[2]))
    assert virtual_workers(router, 3) == [4, 4, 4]


def test_nobody_is_probed_while_all_are_busy():
    router = ConsistentGrouping(3, virtual=4).router()
    for _ in range(3):
        router.learn(report(busy=[0, 1, 2]))
    assert virtual_workers(router, 3) == [4, 4, 4]


@settings(max_examples=100)
@given(st.lists(st.tuples(some_workers, some_workers), max_size=20))
def test_virtual_workers_are_never_lost_and_never_all_taken(signals):
    router = ConsistentGrouping(5, virtual=3).router()
    for busy, idle in signals:
        router.learn(report(busy, idle))
    owned = virtual_workers(router, 5)
    assert sum(owned) == 15
    assert min(owned) >= 1


def test_signals_change_only_later_routes():
    keys = np.random.default_rng(1).integers(0, 2**64, 3000, dtype=np.uint64)
    told, untold = (ConsistentGrouping(3, virtual=10).router() for _ in range(2))
    before = told.route(keys)
    np.testing.assert_array_equal(before, untold.route(keys))
    for _ in range(8):
        told.learn(report(busy=[0], idle=[1]))
    after = np.bincount(told.route(keys), minlength=3)
    assert after[0] < 0.3 * after[1]


def test_sources_have_maps_of_their_own():
    scheme = ConsistentGrouping(2)
    first, second = scheme.router(0, 2), scheme.router(1, 2)
    first.learn(report(busy=[0], idle=[1]))
    assert virtual_workers(first, 2) != virtual_workers(second, 2)


def test_at_least_one_virtual_worker():
    with pytest.raises(ParameterError, match="virtual=0"):
        ConsistentGrouping(2, virtual=0)
