"""Sketches keep the error that they promise, also where they forget."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from unskew.aggregates import Distinct, Quantiles, TopK
from unskew.errors import ParameterError


def result(aggregate, values, parts=1):
    merged = aggregate.zero()
    for part in np.array_split(np.asarray(values), parts):
        batch = pa.record_batch({"x": pa.array(part)})
        merged = aggregate.merge(merged, aggregate.add(aggregate.zero(), batch))
    return aggregate.result(merged)


@pytest.mark.parametrize("count", [0, 1, 100, 3000, 12_000, 200_000])
def test_distinct_counts_within_four_standard_errors(count):
    estimate = result(Distinct("x"), np.arange(count), parts=7)
    assert abs(estimate - count) <= 4 * 1.04 / 64 * count


@pytest.mark.parametrize("at", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_quantiles_are_within_the_relative_error(at):
    values = np.random.default_rng(1).lognormal(0, 4, 10_000) * np.where(
        np.arange(10_000) % 3, 1, -1
    )
    [found] = result(Quantiles("x", at=(at,), error=0.02), values, parts=5)
    true = np.quantile(values, at, method="lower")
    assert abs(found - true) <= 0.0201 * abs(true)


def test_top_k_misses_no_more_than_it_says():
    rng = np.random.default_rng(2)
    values = rng.zipf(1.3, 20_000) % 5000
    top = TopK("x", k=20, tracked=50)
    found = {pair["item"]: pair["count"] for pair in result(top, values, parts=9)}
    true = np.bincount(values)
    for item, count in found.items():
        assert true[item] - values.size / 51 <= count <= true[item]
    assert set(np.flatnonzero(true > values.size / 51).tolist()) <= set(found)


def test_one_nan_is_like_another():
    two = np.array([np.nan, -np.nan, 1.0])
    assert result(TopK("x", k=1), two, parts=3)[0]["count"] == 2
    assert result(Distinct("x"), two, parts=3) == 2


@pytest.mark.parametrize(
    "build",
    [
        lambda: TopK("x", k=0),
        lambda: TopK("x", k=5, tracked=4),
        lambda: Distinct("x", precision=3),
        lambda: Quantiles("x", at=()),
        lambda: Quantiles("x", at=(1.5,)),
        lambda: Quantiles("x", error=0.0),
    ],
)
def test_parameters_out_of_range_are_refused(build):
    with pytest.raises(ParameterError):
        build()
