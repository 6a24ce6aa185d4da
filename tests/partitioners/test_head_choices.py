from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.partitioners.streams import streams

from unskew.errors import ParameterError
from unskew.kernels.choices import candidates, prime_at_least
from unskew.metrics import max_over_mean
from unskew.partitioners import DChoices, WChoices
from unskew.partitioners.head_choices import HeadChoicesRouter, smallest_choices
from unskew.workloads import ZipfStream


def zipf_keys(exponent, messages=50_000):
    return np.concatenate(list(ZipfStream(exponent, keys=10_000, messages=messages).chunks()))


def smallest_choices_by_the_formula(head, n, epsilon):
    """The condition prefix by prefix, as it is written."""
    for d in range(2, n):
        fits = True
        for h in range(1, len(head) + 1):
            b = n - n * ((n - 1) / n) ** (h * d)
            must = sum(head[:h]) + (b / n) ** d * sum(head[h:]) + (b / n) ** 2 * (1 - sum(head))
            fits = fits and must <= b * (1 / n + epsilon)
        if fits:
            return d
    return n


@given(
    weights=st.lists(st.floats(0.01, 1), min_size=1, max_size=8),
    tail=st.floats(0.05, 5),
    workers=st.integers(3, 80),
)
def test_number_of_choices_is_that_of_the_formula(weights, tail, workers):
    head = np.sort(np.array(weights))[::-1] / (sum(weights) + tail)
    expected = smallest_choices_by_the_formula(head.tolist(), workers, 1e-4)
    assert smallest_choices(head, workers, 1e-4) == expected


@settings(max_examples=40)
@given(stream=streams, choices=st.integers(2, 8))
def test_head_keys_go_to_the_least_loaded_of_their_choices(stream, choices):
    """Every key is head, with a fixed number of choices: as PartialKey with as many."""
    router = HeadChoicesRouter.start(9, 1e-6 * 10, 0, 1, None)
    router.head_choices = choices
    routes = router.route(stream)
    loads = np.zeros(9, dtype=np.int64)
    mine = np.empty(choices, dtype=np.int32)
    for key, worker in zip(stream, routes, strict=True):
        candidates(key, True, np.uint64(9), np.uint64(prime_at_least(9)), mine)
        assert worker in mine
        assert loads[worker] == loads[mine].min()
        loads[worker] += 1


def test_a_new_rare_key_is_not_head():
    """A summary of 1/threshold counters would let every newcomer in at the threshold."""
    router = WChoices(workers=50).router()
    rare = np.random.default_rng(1).integers(0, 2**64, 200_000, dtype=np.uint64)
    router.route(rare)
    estimates = router.sketch.frequent().counts
    assert estimates.max() < router.threshold * router.sketch.rows


@pytest.mark.parametrize("scheme", [WChoices, DChoices])
@pytest.mark.parametrize("exponent", [1.0, 1.4, 2.0])
def test_hot_keys_are_level_where_two_choices_fail(scheme, exponent):
    loads = np.bincount(scheme(workers=20).router().route(zipf_keys(exponent)), minlength=20)
    assert max_over_mean(loads) < 1.02


def test_d_choices_need_fewer_replicas_than_w_choices():
    keys = zipf_keys(1.2)
    pairs = [
        np.unique(np.stack([keys, scheme(50).router().route(keys).astype(np.uint64)]), axis=1)
        for scheme in (DChoices, WChoices)
    ]
    assert pairs[0].shape[1] < pairs[1].shape[1]


@pytest.mark.parametrize("threshold", [-1, 0, 1.5, float("nan")])
@pytest.mark.parametrize("scheme", [WChoices, DChoices])
def test_threshold_is_a_share(scheme, threshold):
    with pytest.raises(ParameterError, match="threshold"):
        scheme(3, threshold=threshold)
