"""Costly rows first: level to the cheap ones, and the same again when a task runs again."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.costs.cost_aware_map import SHAPE
from unskew._spark.routing.online import CostliestFirst
from unskew.partitioners import Proactive
from unskew.sketches.cost_pair import CostPair

COSTS = np.array([1.0, 1.0, 1.0, 2.0, 4.0, 8.0])


def scheduler(workers):
    pair = CostPair(SHAPE)
    pair.add(_hashes(np.arange(COSTS.size)), COSTS)
    posg = Proactive(workers, epsilon=SHAPE.epsilon, learned=pair.learned(), resync=0)
    return CostliestFirst(posg)


def _hashes(content):
    return content.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@given(st.lists(st.integers(0, 5), max_size=200), st.integers(1, 6), st.integers(0, 9))
def test_no_source_leaves_a_worker_behind_by_more_than_graham_allows(content, workers, source):
    rows = np.array(content, dtype=np.int64)
    made = scheduler(workers)
    route = made.router(source, source + 1).route(_hashes(rows))
    loads = np.bincount(route, COSTS[rows], workers)
    assert loads.sum() == COSTS[rows].sum()
    # Longest first is within 4/3 of the best schedule, and that is at least the longest row.
    best = max(loads.mean(), COSTS[rows].max(initial=0.0))
    assert loads.max() <= 4 / 3 * best + 1e-9 or loads.max() - loads.min() <= COSTS.max()
    np.testing.assert_array_equal(route, made.router(source, source + 1).route(_hashes(rows)))


def test_cheap_rows_level_what_costly_ones_left():
    content = np.tile(np.arange(6), 40)
    loads = np.bincount(scheduler(4).router().route(_hashes(content)), COSTS[content], 4)
    assert loads.max() - loads.min() <= 1.0


def test_every_source_begins_with_another_worker():
    first = [
        scheduler(3).router(source, source + 1).route(_hashes(np.array([5])))[0]
        for source in range(3)
    ]
    assert sorted(first) == [0, 1, 2]
