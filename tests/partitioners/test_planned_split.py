"""Planned split: level workers, few cuts, a bounded table. Adaptive split: bounded and sticky."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.hashing import hash_ids
from unskew.kernels.replanned import IntervalCounts
from unskew.partitioners import AdaptiveSplit, Need, PlannedSplit
from unskew.partitioners.split_planning import plan_split, planned_loads
from unskew.partitioners.split_replanning import replan
from unskew.sketches.key_counts import KeyCounts
from unskew.sketches.space_saving import SpaceSaving

KEYS = np.random.default_rng(3).integers(0, 2**64, 500, dtype=np.uint64)
weights = st.lists(st.floats(0.1, 1000), max_size=60).map(np.array)
workers = st.integers(1, 20)


def zipf_stream(rows: int, exponent: float = 1.2, seed: int = 0):
    chances = 1 / np.arange(1, KEYS.size + 1) ** exponent
    return np.random.default_rng(seed).choice(KEYS, rows, p=chances / chances.sum())


@settings(max_examples=60)
@given(weights=weights, rest=st.lists(st.floats(0, 300), min_size=1, max_size=20).map(np.array))
def test_plans_are_level_with_few_cuts(weights, rest):
    keys = KEYS[: weights.size]
    table = plan_split(keys, weights, rest, epsilon=0.01)
    loads = planned_loads(table, keys, weights, rest)
    fair = (weights.sum() + rest.sum()) / rest.size
    assert loads.sum() == pytest.approx(weights.sum() + rest.sum())
    # No scheme takes anything from a worker that the other keys already overfill.
    assert loads.max() <= max(fair * 1.01, rest.max()) * (1 + 1e-9)
    assert table.owners.size - table.keys.size <= rest.size - 1


@settings(max_examples=30)
@given(weights=weights, speeds=st.lists(st.floats(0.5, 5), min_size=1, max_size=20).map(np.array))
def test_plans_follow_the_capacities(weights, speeds):
    keys = KEYS[: weights.size]
    rest = np.zeros(speeds.size)
    table = plan_split(keys, weights, rest, capacities=speeds, epsilon=0.01)
    utilisation = planned_loads(table, keys, weights, rest) / speeds
    assert utilisation.max() <= weights.sum() / speeds.sum() * (1.01 + 1e-9)


def test_the_table_is_as_small_as_it_may_be():
    stream = KeyCounts.of([zipf_stream(100_000)])
    counts = stream.counts.astype(float)
    sizes = [
        plan_split(stream.keys, counts, np.zeros(50), table=table, epsilon=epsilon).keys.size
        for table, epsilon in ((1000, 0.01), (1000, 2.0), (5, 0.01), (0, 0.01))
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 5
    assert sizes[3] == 0
    even = np.ones(KEYS.size)
    assert plan_split(KEYS, even, np.full(4, 1e6)).keys.size == 0


@settings(max_examples=40)
@given(shares=st.lists(st.floats(0.01, 1), min_size=1, max_size=9))
def test_draws_follow_the_shares(shares):
    wanted = np.array(shares) / sum(shares)
    parts = wanted.size
    plan = PlannedSplit(
        parts,
        KEYS[:1],
        np.array([0, parts]),
        np.arange(parts, dtype=np.int32),
        wanted,
    )
    draws = np.linspace(0, 2**32 - 1, 200_001).astype(np.uint64)
    drawn = plan.static.route(np.repeat(KEYS[:1], draws.size), draws)
    np.testing.assert_allclose(np.bincount(drawn, minlength=parts) / draws.size, wanted, atol=1e-3)


@pytest.mark.parametrize("sources", [1, 5])
def test_rows_come_out_as_planned(sources):
    stream = zipf_stream(50_000)
    plan = PlannedSplit(16, counts=KeyCounts.of([stream]))
    routes = [plan.router(i, sources).route(stream[i::sources]) for i in range(sources)]
    loads = np.bincount(np.concatenate(routes))
    assert loads.max() / loads.mean() < 1.01
    assert plan.need is Need.MERGEABLE


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), interval=st.integers(1, 3000), workers=workers)
def test_adaptive_no_worker_passes_its_bound(seed, interval, workers):
    # Every interval ends in a plan: twenty of them, and a part of another, are enough.
    stream = zipf_stream(min(6000, 20 * interval + interval // 2), seed=seed)
    chosen = AdaptiveSplit(workers, interval=interval).router().route(stream)
    bound = max(int(1.02 * interval / workers), -(-interval // workers))
    for start in range(0, stream.size, interval):
        assert np.bincount(chosen[start : start + interval]).max() <= bound


def test_adaptive_makes_few_replicas_once_it_has_a_plan():
    stream = zipf_stream(40_000)
    chosen = AdaptiveSplit(16, interval=20_000).router().route(stream)
    replicas = [
        len(set(zip(part.tolist(), where.tolist(), strict=True))) - np.unique(part).size
        for part, where in zip(np.split(stream, 2), np.split(chosen, 2), strict=True)
    ]
    assert replicas[1] < 0.6 * replicas[0]


def test_adaptive_keys_stay_where_they_are_while_they_fit():
    table = PlannedSplit(16, counts=KeyCounts.of([zipf_stream(20_000)])).table
    for seed in range(3):
        stream = zipf_stream(20_000, seed=seed)
        sketch = SpaceSaving(1000)
        sketch.add(stream)
        hashed = np.bincount(PlannedSplit(16).router().route(stream), minlength=16)
        before, table = table, replan(table, IntervalCounts(hashed, hashed), sketch)
        both = np.intersect1d(before.keys, table.keys)
        kept = [bool(_owners(before, key) & _owners(table, key)) for key in both]
        assert np.mean(kept) > 0.8


def _owners(table, key):
    entry = np.searchsorted(table.keys, key)
    return set(table.owners[table.starts[entry] : table.starts[entry + 1]].tolist())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ((KEYS[:2], [0, 1], [0], [1.0]), "starts must begin at 0 and rise"),
        ((KEYS[:1], [0, 2], [0], [1.0]), "starts ends at 2"),
        (([9, 3], [0, 1, 2], [0, 1], [1.0, 1.0]), "ascending order"),
        ((KEYS[:1], [0, 1], [4], [1.0]), "owners reach from 4 to 4"),
        ((KEYS[:1], [0, 2], [0, 1], [0.5, 0.6]), "add up to 1"),
    ],
)
def test_tables_that_cannot_be_are_refused(table, message):
    keys, starts, owners, shares = (np.array(column) for column in table)
    with pytest.raises(ParameterError, match=message):
        PlannedSplit(4, keys.astype(np.uint64), starts, owners, shares)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"interval": 0}, "interval=0"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"start": PlannedSplit(3)}, "start.workers=3 must equal workers=4"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        AdaptiveSplit(4, **settings)
    with pytest.raises(ParameterError, match="table=-1"):
        plan_split(KEYS, np.ones(KEYS.size), np.zeros(3), table=-1)
    with pytest.raises(ParameterError, match="one per worker"):
        plan_split(KEYS, np.ones(KEYS.size), np.zeros(3), capacities=np.ones(2))


def test_it_knows_which_keys_it_cuts():
    counts = KeyCounts(hash_ids(np.arange(3)), np.array([90, 5, 5]))
    assert PlannedSplit(4, counts=counts).cut.tolist() == hash_ids(np.arange(1)).tolist()
    assert AdaptiveSplit(4).cut is None
