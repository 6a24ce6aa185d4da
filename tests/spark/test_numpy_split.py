"""Numpy sends rows where the compiled router does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.routing.numpy_split import NumpySplit
from unskew._spark.routing.online import _light
from unskew.partitioners import AdaptiveSplit, PlannedSplit
from unskew.sketches.key_counts import KeyCounts


@given(
    st.lists(st.integers(0, 12), max_size=300),
    st.integers(1, 9),
    st.integers(0, 2**40),
    st.integers(1, 100),
)
def test_routes_are_those_of_the_compiled_router(numbers, workers, source, step):
    keys = np.array(numbers, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    plan = PlannedSplit(workers, counts=KeyCounts.of([keys[::2]]))
    turns = _light(plan)
    assert isinstance(turns, NumpySplit)
    router = turns.router(source)
    batches = [router.route(keys[start : start + step]) for start in range(0, keys.size, step)]
    found = np.concatenate([np.empty(0, dtype=np.int32), *batches])
    np.testing.assert_array_equal(found, plan.router(source).route(keys))
    assert found.dtype == np.int32


def test_a_plan_that_learns_keeps_its_own_router():
    plan = AdaptiveSplit(3)
    assert _light(plan) is plan
