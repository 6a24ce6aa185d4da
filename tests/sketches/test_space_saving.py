from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.sketches.space_saving import SpaceSaving

small_streams = st.lists(st.integers(0, 30), max_size=400).map(
    lambda keys: np.array(keys, dtype=np.uint64)
)


@given(stream=small_streams, capacity=st.integers(1, 40))
def test_bounds(stream, capacity):
    sketch = SpaceSaving(capacity)
    sketch.add(stream)
    found = sketch.frequent()
    true = {int(key): int(np.count_nonzero(stream == key)) for key in np.unique(stream)}
    assert found.counts.sum() == stream.size == sketch.rows
    assert len(set(found.keys.tolist())) == found.keys.size == min(capacity, len(true))
    for key, count, error in zip(*(part.tolist() for part in found), strict=True):
        assert count - error <= true[key] <= count
        assert error <= stream.size / capacity
    frequent = {key for key, count in true.items() if count > stream.size / capacity}
    assert frequent <= set(found.keys.tolist())


@given(stream=small_streams, cut=st.integers(0, 400))
def test_batches_do_not_matter(stream, cut):
    whole, batched = SpaceSaving(8), SpaceSaving(8)
    whole.add(stream)
    batched.add(stream[:cut])
    batched.add(stream[cut:])
    for one, other in zip(whole.frequent(), batched.frequent(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_frequent_keys_from_a_count_on():
    sketch = SpaceSaving(10)
    sketch.add(np.array([1, 1, 1, 2, 2, 3], dtype=np.uint64))
    assert sketch.frequent(least=2).keys.tolist() == [1, 2]


def test_needs_a_counter():
    with pytest.raises(ParameterError, match="capacity=0"):
        SpaceSaving(0)
