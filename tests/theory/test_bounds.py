"""What the papers prove, on any stream."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.partitioners import (
    ConsistentGrouping,
    OfflineGreedy,
    PartialKey,
    RandomChoices,
    StaticTwoChoices,
)
from unskew.simulator.sources import Sources
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import ZipfStream

HASHES = np.random.default_rng(3).integers(0, 2**64, 400, dtype=np.uint64)


@st.composite
def skewed_streams(draw: st.DrawFn, most: int = 3000) -> np.ndarray:
    """Up to 400 keys with any skew, from flat to a single hot key."""
    exponent = draw(st.floats(0.0, 3.0))
    keys = draw(st.integers(1, 400))
    size = draw(st.integers(1, most))
    seed = draw(st.integers(0, 2**32 - 1))
    weights = np.arange(1, keys + 1) ** -exponent
    ranks = np.random.default_rng(seed).choice(keys, size, p=weights / weights.sum())
    return HASHES[ranks]


def loads_over_time(workers: np.ndarray, count: int) -> np.ndarray:
    """Row t holds the load of every worker after t + 1 messages."""
    return np.cumsum(workers[:, None] == np.arange(count), axis=0)


@given(stream=skewed_streams(), n=st.integers(1, 20), epsilon=st.floats(0.001, 2.0))
@settings(max_examples=60)
def test_random_choices_stay_within_epsilon_of_the_mean_at_all_times(stream, n, epsilon) -> None:
    loads = loads_over_time(RandomChoices(n, epsilon).router().route(stream), n)
    m = np.arange(1, stream.size + 1)
    # Paper: imbalance <= epsilon * m / n; loads are whole, so up to the next whole row.
    assert (loads.max(axis=1) <= np.ceil((1 + epsilon) * m / n * (1 + 1e-12))).all()


@given(stream=skewed_streams(), n=st.integers(1, 20), epsilon=st.floats(0.001, 2.0))
@settings(max_examples=60)
def test_random_choices_need_the_replicas_that_the_bound_says(stream, n, epsilon) -> None:
    workers = RandomChoices(n, epsilon).router().route(stream)
    keys, counts = np.unique(stream, return_counts=True)
    room = np.ceil((1 + epsilon) * stream.size / n * (1 + 1e-12))
    for key, count in zip(keys, counts, strict=True):
        assert np.unique(workers[stream == key]).size >= np.ceil(count / room)


@given(
    stream=skewed_streams(),
    owners=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    shares=st.lists(st.floats(0.05, 1.0), min_size=4, max_size=4),
    epsilon=st.floats(0.001, 1.0),
)
@settings(max_examples=60)
def test_a_busy_worker_has_more_virtual_workers_than_its_capacity_asks_for(
    stream, owners, shares, epsilon
) -> None:
    """So that it can hand some over: section V-A of consistent grouping."""
    capacity = np.array(shares) / sum(shares)
    scheme = ConsistentGrouping(4, virtual=3, epsilon=epsilon, owners=np.array(owners, np.int32))
    load = np.bincount(scheme.router().route(stream), minlength=4) / stream.size
    owned = np.bincount(owners, minlength=4)
    optimal = capacity * len(owners)
    # A virtual worker takes at most the next whole row above (1 + epsilon) * m / 12.
    room = np.ceil((1 + epsilon) * stream.size / 12 * (1 + 1e-12)) * 12 / stream.size
    overload = load / capacity
    assert (owned / optimal >= overload / room * (1 - 1e-9)).all()


@given(stream=skewed_streams(), n=st.integers(2, 30))
@settings(max_examples=60)
def test_two_choices_cannot_beat_the_hottest_key(stream, n) -> None:
    loads = np.bincount(PartialKey(n).router().route(stream), minlength=n)
    hottest = np.unique(stream, return_counts=True)[1].max()
    assert loads.max() - stream.size / n >= hottest / 2 - stream.size / n


@given(seed=st.integers(0, 10_000), n=st.sampled_from([5, 10, 20]))
@settings(max_examples=20)
def test_two_choices_are_level_up_to_a_constant_when_no_key_is_hot(seed, n) -> None:
    stream = ZipfStream(0.0, keys=5 * n, messages=max(n * n, 20_000), seed=seed)
    (keys,) = stream.chunks()
    loads = np.bincount(PartialKey(n).router().route(keys), minlength=n)
    # Theorem 5.1 with p1 = 1/(5n): O(m/n), in its proof at most 20 m/n; in practice far below.
    assert loads.max() <= 2 * keys.size / n


@given(stream=skewed_streams(), n=st.integers(2, 10), sources=st.integers(1, 8))
@settings(max_examples=60)
def test_the_imbalance_is_at_most_the_sum_of_what_sources_see(stream, n, sources) -> None:
    workers = Sources(PartialKey(n), sources).route(stream)
    total = np.bincount(workers, minlength=n)
    seen = [np.bincount(workers[s::sources], minlength=n) for s in range(sources)]
    assert total.max() - total.mean() <= sum(own.max() - own.mean() for own in seen) + 1e-9


@given(counts=st.lists(st.integers(1, 12), min_size=1, max_size=7), n=st.integers(1, 3))
@settings(max_examples=60)
def test_offline_greedy_is_within_four_thirds_of_the_best(counts, n) -> None:
    stream = np.repeat(HASHES[: len(counts)], counts)
    greedy = OfflineGreedy(n, KeyCounts.of([stream])).router().route(stream)
    highest = np.bincount(greedy, minlength=n).max()
    best = min(
        np.bincount(placed, weights=counts, minlength=n).max()
        for placed in product(range(n), repeat=len(counts))
    )
    assert highest <= (4 / 3 - 1 / (3 * n)) * best + 1e-9


@given(stream=skewed_streams(), n=st.integers(1, 20))
@settings(max_examples=60)
def test_offline_greedy_exceeds_the_mean_by_less_than_the_hottest_key(stream, n) -> None:
    counts = KeyCounts.of([stream])
    loads = np.bincount(OfflineGreedy(n, counts).router().route(stream), minlength=n)
    assert loads.max() <= stream.size / n + (1 - 1 / n) * counts.counts[0] + 1e-9


@given(stream=skewed_streams(), n=st.integers(2, 20))
@settings(max_examples=40)
def test_splitting_keys_is_what_makes_two_choices_level(stream, n) -> None:
    """A key that stays whole loads one worker with all of it, whatever else is done."""
    whole = np.bincount(StaticTwoChoices(n).router().route(stream), minlength=n)
    hottest = np.unique(stream, return_counts=True)[1].max()
    assert whole.max() >= hottest
