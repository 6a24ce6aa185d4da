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


@pytest.mark.parametrize(("eager", "left"), [(False, 97), (True, 93)])
def test_a_worker_that_stays_busy_gives_one_two_four(eager, left):
    router = ConsistentGrouping(2, virtual=100, eager=eager).router()
    for _ in range(3):
        router.learn(report(busy=[0], idle=[1]))
    assert virtual_workers(router, 2) == [left, 200 - left]


def test_a_worker_that_was_not_busy_in_between_starts_with_one_again():
    router = ConsistentGrouping(3, virtual=100).router()
    router.learn(report(busy=[0], idle=[1]))
    router.learn(report(idle=[1]))
    router.learn(report(idle=[1]))
    router.learn(report(busy=[0]))
    assert virtual_workers(router, 3) == [98, 102, 100]


def test_a_busy_worker_gives_at_most_a_tenth_at_a_time():
    router = ConsistentGrouping(2, virtual=100).router()
    for _ in range(20):
        before = virtual_workers(router, 2)[0]
        router.learn(report(busy=[0], idle=[1]))
        assert before - virtual_workers(router, 2)[0] <= max(1, before // 10)


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


def test_while_all_are_busy_the_one_that_said_so_longest_ago_is_probed():
    router = ConsistentGrouping(3, virtual=4).router()
    router.learn(report(busy=[0, 1]))
    router.learn(report(busy=[2]))
    router.learn(report(busy=[2]))  # 0 and 1 wait; 0's signal is the older one
    assert virtual_workers(router, 3) == [5, 4, 3]


def test_a_single_worker_has_nobody_to_probe():
    router = ConsistentGrouping(1, virtual=4).router()
    for _ in range(3):
        router.learn(report(busy=[0]))
    assert virtual_workers(router, 1) == [4]


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
    with pytest.raises(ParameterError, match="virtual=-1"):
        ConsistentGrouping(2, virtual=-1)


def test_without_a_number_a_virtual_worker_is_at_most_a_twentieth_of_a_worker():
    assert ConsistentGrouping(2).virtual == 20
    assert ConsistentGrouping(100) == ConsistentGrouping(100, virtual=40)


def test_a_window_levels_what_came_last():
    """After a long hot spell of one key, all workers are level in the rows that follow."""
    spell = np.zeros(200_000, dtype=np.uint64)
    after = np.random.default_rng(1).integers(0, 2**64, 4_000, dtype=np.uint64)
    found = {}
    for window in (0, 1_000):
        router = ConsistentGrouping(10, virtual=20, window=window).router()
        router.route(spell)
        loads = np.bincount(router.route(after), minlength=10)
        found[window] = loads.max() / loads.mean()
    assert found[1_000] < 1.05 < found[0]


def test_a_window_must_not_be_negative():
    with pytest.raises(ParameterError, match="window=-1"):
        ConsistentGrouping(2, window=-1)
