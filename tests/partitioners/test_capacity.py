"""Capacity-bounded schemes take exactly the routes of their textbook form, and keep its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.partitioners.streams import streams

from unskew.errors import ParameterError
from unskew.hashing.ring import ring_points
from unskew.kernels.choices import candidates, prime_at_least
from unskew.kernels.mixing import below, mix, salted
from unskew.partitioners import BoundedRing, ConsistentGrouping, RandomChoices
from unskew.workloads import ZipfStream

capacities = st.sampled_from([1, 2, 3, 7, 64])
slacks = st.sampled_from([0.001, 0.01, 0.3, 2.0])


def algorithm_1(keys, workers, epsilon, sequence):
    """Consistent Grouping, Algorithm 1, word for word; m counts the current message."""
    loads, routes = [0] * workers, []
    for m, key in enumerate(keys, start=1):
        choices = sequence(key)
        worker = next(choices)
        while loads[worker] >= (1 + epsilon) / workers * m:
            worker = next(choices)
        loads[worker] += 1
        routes.append(worker)
    return routes


def walk(workers):
    def sequence(key):
        out = np.empty(workers, dtype=np.int32)
        candidates(key, True, np.uint64(workers), np.uint64(prime_at_least(workers)), out)
        return iter(out.tolist())

    return sequence


def salted_draws(workers):
    def sequence(key):
        salt = 0
        while True:
            yield int(below(np.uint64(salted(key, np.uint64(salt))), np.uint64(workers)))
            salt += 1

    return sequence


def clockwise(workers):
    points, order = ring_points(workers, replicas=1)

    def sequence(key):
        start = int(np.searchsorted(points, np.uint64(mix(key))))
        return iter([int(order[(start + step) % workers]) for step in range(workers)])

    return sequence


@settings(max_examples=60)
@given(stream=streams, workers=capacities, epsilon=slacks)
def test_random_choices_is_algorithm_1(stream, workers, epsilon):
    for distinct, sequence in ((True, walk(workers)), (False, salted_draws(workers))):
        fast = RandomChoices(workers, epsilon, distinct).router().route(stream)
        assert fast.tolist() == algorithm_1(stream, workers, epsilon, sequence)


@settings(max_examples=60)
@given(stream=streams, workers=capacities, epsilon=slacks)
def test_bounded_ring_goes_clockwise(stream, workers, epsilon):
    fast = BoundedRing(workers, epsilon).router().route(stream)
    assert fast.tolist() == algorithm_1(stream, workers, epsilon, clockwise(workers))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_a_long_skewed_stream_is_algorithm_1_too(exponent):
    """Long enough for searches to resume many times within one limit and across limits."""
    keys = np.concatenate(list(ZipfStream(exponent, keys=1000, messages=20_000).chunks()))
    fast = RandomChoices(20).router().route(keys)
    assert fast.tolist() == algorithm_1(keys, 20, 0.01, walk(20))


@pytest.mark.parametrize("scheme", [RandomChoices, BoundedRing])
@settings(max_examples=30)
@given(stream=streams, workers=capacities, epsilon=slacks)
def test_no_worker_ever_exceeds_its_capacity_by_a_row(scheme, stream, workers, epsilon):
    routes = scheme(workers, epsilon).router().route(stream)
    loads = np.zeros(workers, dtype=np.int64)
    for m, worker in enumerate(routes, start=1):
        loads[worker] += 1
        assert loads.max() <= math.ceil((1 + epsilon) / workers * m)


@settings(max_examples=30)
@given(stream=streams, workers=capacities)
def test_replicas_of_random_choices_reach_their_lower_bound(stream, workers):
    """A key cannot fit into fewer workers than its share of the rows fills."""
    routes = RandomChoices(workers).router().route(stream)
    for key in np.unique(stream):
        rows = np.count_nonzero(stream == key)
        capacity = math.ceil(1.01 / workers * stream.size)
        assert np.unique(routes[stream == key]).size >= rows / capacity


def test_virtual_workers_are_level_without_signals():
    keys = np.concatenate(list(ZipfStream(1.4, keys=1000, messages=50_000).chunks()))
    loads = np.bincount(ConsistentGrouping(8, virtual=10).router().route(keys))
    assert loads.max() <= 1.01 * 50_000 / 8 + 10


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf")])
@pytest.mark.parametrize("scheme", [RandomChoices, BoundedRing, ConsistentGrouping])
def test_slack_must_be_positive(scheme, epsilon):
    with pytest.raises(ParameterError, match=r"epsilon=.* is not (above 0|a number)"):
        scheme(workers=3, epsilon=epsilon)
