"""Histograms keep totals and means, merge in any order, and are exact while bins are free."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.sketches.streaming_histogram import StreamingHistogram

numbers = st.lists(st.floats(-1e6, 1e6), max_size=60).map(lambda values: np.array(values))
few = st.lists(st.sampled_from([-2.5, 0.0, 1.0, 7.0]), max_size=40).map(
    lambda values: np.array(values)
)
several_bins = st.integers(2, 12)


def histogram(values, bins) -> StreamingHistogram:
    made = StreamingHistogram(bins)
    made.add(np.asarray(values, dtype=np.float64))
    return made


def check(made: StreamingHistogram, values) -> None:
    """What holds of every histogram of `values`, however it was made."""
    assert made.points.size <= made.bins
    assert (np.diff(made.points) > 0).all()
    assert made.total == len(values)
    if len(values):
        scale = max(np.abs(values).max(), 1.0) * len(values)
        assert (made.points * made.masses).sum() == pytest.approx(np.sum(values), abs=1e-9 * scale)
        assert made.points[0] >= values.min() - 1e-9 * scale
        assert made.points[-1] <= values.max() + 1e-9 * scale


@given(numbers, several_bins)
def test_total_and_mean_are_kept(values, bins):
    check(histogram(values, bins), values)


@given(numbers, numbers, several_bins)
def test_merging_keeps_them_and_does_not_mind_the_order(first, second, bins):
    left, right = histogram(first, bins), histogram(second, bins)
    merged, turned = left.merge(right), right.merge(left)
    check(merged, np.concatenate([first, second]))
    np.testing.assert_array_equal(merged.points, turned.points)
    np.testing.assert_array_equal(merged.masses, turned.masses)


@given(few, few, few)
def test_while_bins_are_free_merging_is_counting(first, second, third):
    a, b, c = (histogram(values, 4) for values in (first, second, third))
    everything = np.concatenate([first, second, third])
    points, masses = np.unique(everything, return_counts=True)
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c)), histogram(everything, 4)):
        np.testing.assert_array_equal(merged.points, points)
        np.testing.assert_array_equal(merged.masses, masses)


@given(numbers, several_bins, st.lists(st.floats(-2e6, 2e6), min_size=2, max_size=9))
def test_counts_below_rise_from_nothing_to_all(values, bins, limits):
    made = histogram(values, bins)
    below = made.below(np.sort(limits))
    assert (np.diff(below) >= -1e-9 * max(len(values), 1)).all()
    assert made.below(np.array([-3e6, 3e6])).tolist() == [0.0, len(values)]


@given(few, st.floats(-3, 8))
def test_free_bins_miscount_by_the_half_mass_of_the_points_around(values, limit):
    found = histogram(values, 4).below(np.array([limit]))[0]
    low, high = np.sum(values < limit), np.sum(values <= limit)
    around = [np.sum(values == point) for point in (-2.5, 0.0, 1.0, 7.0)]
    assert low - max(around) / 2 <= found <= high + max(around) / 2


def test_many_values_are_cut_into_even_parts():
    values = np.random.default_rng(1).normal(size=20_000)
    cuts = histogram(values, 64).uniform(10)
    counts, _ = np.histogram(values, [-np.inf, *cuts, np.inf])
    assert cuts.size == 9
    assert np.abs(counts - 2_000).max() < 300


@given(numbers, several_bins, st.integers(1, 8))
def test_cuts_are_where_the_counts_say(values, bins, parts):
    made = histogram(values, bins)
    if made.points.size < 2:
        assert made.uniform(parts).tolist() == made.points.tolist() * (parts - 1)
        return
    cuts = made.uniform(parts)
    wanted = made.total * np.arange(1, parts) / parts
    ends = (made.masses[0] / 2, made.total - made.masses[-1] / 2)
    inside = (wanted > ends[0] + 1e-6) & (wanted < ends[1] - 1e-6)
    assert (np.diff(cuts) >= 0).all()
    np.testing.assert_allclose(made.below(cuts)[inside], wanted[inside], rtol=1e-6, atol=0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StreamingHistogram(bins=1), "bins=1 must be at least 2"),
        (lambda: histogram([np.nan], 4), "finite numbers"),
        (lambda: StreamingHistogram.of(np.array([1.0]), np.array([0.0])), "masses above 0"),
        (lambda: histogram([1.0], 4).uniform(0), "parts=0"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
