"""The guarantees of lossy counting, over a stream and over its recent past."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.sketches.lossy_counting import LossyCounting, SlidingLossyCounting

streams = st.lists(st.integers(0, 30).map(lambda i: i * i % 37), max_size=400).map(
    lambda keys: np.array(keys, dtype=np.uint64)
)
epsilons = st.sampled_from([0.5, 0.2, 0.1, 0.03, 1.0])


@given(stream=streams, epsilon=epsilons, cut=st.integers(0, 400))
def test_estimates_are_low_by_at_most_epsilon_rows(
    stream: np.ndarray, epsilon: float, cut: int
) -> None:
    sketch = LossyCounting(epsilon)
    sketch.add(stream[:cut])
    sketch.add(stream[cut:])
    found = sketch.frequent()
    estimates = dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True))
    for key, count in zip(*np.unique(stream, return_counts=True), strict=True):
        estimate = estimates.pop(int(key), 0)
        assert count - epsilon * stream.size - 1e-9 <= estimate <= count
    assert not estimates
    assert sketch.entries == found.keys.size


@given(stream=streams, epsilon=epsilons, delta=st.floats(0, 1))
def test_every_frequent_key_is_found_and_no_rare_one(
    stream: np.ndarray, epsilon: float, delta: float
) -> None:
    sketch = LossyCounting(epsilon)
    sketch.add(stream)
    found = set(sketch.frequent(delta).keys.tolist())
    for key, count in zip(*np.unique(stream, return_counts=True), strict=True):
        if count >= delta * stream.size and count > epsilon * stream.size:
            assert int(key) in found
        if int(key) in found:
            assert count >= (delta - epsilon) * stream.size - 1e-9


def test_memory_stays_logarithmic() -> None:
    sketch = LossyCounting(0.01)
    sketch.add(np.random.default_rng(1).integers(0, 10**6, 200_000).astype(np.uint64))
    assert sketch.entries <= 100 * np.log(0.01 * 200_000)


@given(
    length=st.integers(0, 900),
    window=st.integers(4, 120),
    counters=st.integers(2, 5),
    cut=st.integers(1, 97),
)
def test_the_answer_covers_the_recent_past(
    length: int, window: int, counters: int, cut: int
) -> None:
    stream = np.arange(length, dtype=np.uint64) // np.uint64(7)
    # A window of 1/epsilon rows never closes here, so the counts are exact.
    sketch = SlidingLossyCounting(1e-3, window, counters)
    for start in range(0, length, cut):
        sketch.add(stream[start : start + cut])
    most = window + window // (counters - 1) + counters
    assert min(length, window) <= sketch.rows <= max(most, 0)
    recent = stream[length - sketch.rows :] if sketch.rows else stream[:0]
    keys, counts = np.unique(recent, return_counts=True)
    found = sketch.frequent()
    order = np.argsort(found.keys)
    np.testing.assert_array_equal(found.keys[order], keys)
    np.testing.assert_array_equal(found.counts[order], counts)


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"counters": 1}, {"window": 0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    settings_ = {"epsilon": 0.1, "window": 10, "counters": 3, **wrong}
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        SlidingLossyCounting(**settings_)  # type: ignore[arg-type]
