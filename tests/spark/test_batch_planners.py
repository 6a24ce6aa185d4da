"""Virtual workers go where rows are done soonest."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew._spark.streaming.replan.planners import TOLERATED, VIRTUAL, BatchOutcome, VirtualWorkers


def took(seconds):
    seconds = np.asarray(seconds, dtype=float)
    return BatchOutcome(seconds, np.full(seconds.size, 1000.0), seconds.max())


def never():
    raise AssertionError("nobody asked for counts")


@settings(max_examples=50)
@given(st.lists(st.floats(0.3, 3.0), min_size=1, max_size=8))
def test_times_are_level_after_one_batch(speeds):
    workers = VirtualWorkers.of(len(speeds))
    rows = np.full(len(speeds), 1000.0)
    workers.learn(took(rows / speeds), never)
    owned = np.bincount(workers.memory.owners, minlength=len(speeds))
    assert owned.sum() == VIRTUAL * len(speeds)
    assert owned.min() >= 1
    times = owned / np.asarray(speeds)
    # One virtual worker of the slowest is the grain.
    assert times.max() <= times.mean() * (1 + TOLERATED) + 1 / min(speeds)


def test_level_workers_keep_theirs():
    workers = VirtualWorkers.of(4)
    before = workers.memory.owners.copy()
    workers.learn(took([1.0, 1.02, 0.98, 1.03]), never)
    np.testing.assert_array_equal(workers.memory.owners, before)


def test_who_counts_as_busy_is_a_setting():
    for tolerance, moves in ((0.5, False), (0.02, True)):
        workers = VirtualWorkers.of(4, tolerance)
        before = workers.memory.owners.copy()
        workers.learn(took([1.2, 1.0, 1.0, 1.0]), never)
        assert np.array_equal(workers.memory.owners, before) is not moves


def test_the_next_batch_goes_by_what_was_learned():
    workers = VirtualWorkers.of(2)
    workers.learn(took([3.0, 1.0]), never)
    routed = (
        workers.partitioner().router().route(np.arange(40_000, dtype=np.uint64) << np.uint64(40))
    )
    assert 0.2 < (routed == 0).mean() < 0.3
    assert workers.table_size == 0


def test_a_worker_without_rows_is_taken_for_a_middling_one():
    workers = VirtualWorkers.of(2)
    workers.learn(took([1.0, 0.0]), never)
    assert 50 < np.bincount(workers.memory.owners, minlength=2)[0] < 100
    before = workers.memory.owners.copy()
    workers.learn(took(np.zeros(2)), never)
    np.testing.assert_array_equal(workers.memory.owners, before)


def test_a_map_of_other_workers_is_not_taken_up():
    workers = VirtualWorkers.of(2, virtual=3)
    for owners in ([], [0] * 4, [2] * 6):
        workers.go_on(owners)
        assert np.bincount(workers.memory.owners).tolist() == [3, 3]
    workers.go_on([0, 0, 0, 0, 0, 1])
    assert np.bincount(workers.memory.owners).tolist() == [5, 1]
    workers.learn(took([5.0, 0.1]), never)
    assert np.bincount(workers.memory.owners)[1] > 1
