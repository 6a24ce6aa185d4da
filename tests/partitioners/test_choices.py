from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.partitioners.streams import streams

from unskew.errors import ParameterError
from unskew.kernels.choices import candidates, prime_at_least
from unskew.partitioners import ALL, Need, PartialKey, TwoRandomChoices, WorkerReport

hashes = st.integers(0, 2**64 - 1)


@given(key=hashes, workers=st.integers(1, 300))
def test_the_walk_of_a_key_is_a_permutation_of_the_workers(key, workers):
    out = np.empty(workers, dtype=np.int32)
    candidates(np.uint64(key), True, np.uint64(workers), np.uint64(prime_at_least(workers)), out)
    assert sorted(out.tolist()) == list(range(workers))


@given(stream=streams, choices=st.integers(1, 9), distinct=st.booleans())
def test_rows_go_to_the_least_loaded_choice(stream, choices, distinct):
    routes = PartialKey(9, choices, distinct=distinct).router().route(stream)
    loads, mine = np.zeros(9, dtype=np.int64), np.empty(choices, dtype=np.int32)
    for key, worker in zip(stream, routes, strict=True):
        candidates(key, distinct, np.uint64(9), np.uint64(11), mine)
        assert worker == mine[np.argmin(loads[mine])]
        loads[worker] += 1


def test_choices_of_different_keys_are_independent():
    """Each pair of workers is about as often the pair of a key as any other."""
    keys = np.random.default_rng(5).integers(0, 2**64, 20_000, dtype=np.uint64)
    pairs = np.empty((keys.size, 2), dtype=np.int32)
    for row, key in enumerate(keys):
        candidates(key, True, np.uint64(5), np.uint64(5), pairs[row])
    _, counts = np.unique(pairs, axis=0, return_counts=True)
    assert counts.size == 20
    assert counts.min() > 850
    assert counts.max() < 1150


def test_probing_replaces_the_estimate():
    router = PartialKey(2, estimate="probing").router()
    router.learn(WorkerReport(loads=np.array([100, 0])))
    assert set(router.route(np.zeros(50, dtype=np.uint64)).tolist()) == {1}
    router.learn(WorkerReport())
    assert router.loads.tolist() == [100, 50]


def test_one_choice_keeps_keys_whole():
    assert PartialKey(5, choices=1).need is Need.WHOLE_KEY
    assert PartialKey(5).need is Need.MERGEABLE


def test_two_random_choices_spread_one_key_evenly():
    loads = np.bincount(TwoRandomChoices(10).router().route(np.zeros(10_000, dtype=np.uint64)))
    assert loads.max() - loads.min() < 10


@pytest.mark.parametrize("scheme", ALL.values(), ids=ALL)
@pytest.mark.parametrize("workers", [0, -3, 2**31])
def test_there_is_at_least_one_worker(scheme, workers):
    with pytest.raises(ParameterError, match=f"workers={workers} is not in"):
        scheme(workers=workers)


@pytest.mark.parametrize("choices", [0, -1, 9])
def test_choices_lie_between_one_and_the_workers(choices):
    with pytest.raises(ParameterError, match=f"choices={choices} is not in 1..workers=8"):
        PartialKey(8, choices=choices)


@pytest.mark.parametrize("changes", [{"estimate": "psychic"}, {"period": 0}])
def test_bad_estimates_are_refused(changes):
    with pytest.raises(ParameterError, match=next(iter(changes))):
        PartialKey(8, **changes)
