"""Plans of whole keys: the bound that they promise, the order of workers, the arcs of the base."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.partitioners import KeyGrouping, RoutingTable, WeightedGrouping
from unskew.partitioners.serialization import from_json, to_json
from unskew.partitioners.split_planning import arc_loads, planned_loads
from unskew.partitioners.weighted_grouping import arcs_for
from unskew.partitioners.whole_planning import plan_whole_keys

KEYS = np.random.default_rng(3).integers(0, 2**64, 20_000, dtype=np.uint64)

zipf = st.tuples(st.integers(1, KEYS.size), st.floats(0, 3)).map(
    lambda drawn: 1e6 / np.arange(1, drawn[0] + 1) ** drawn[1]
)
steps = st.tuples(st.integers(1, 70), st.floats(1, 1e6), st.integers(0, 5000), st.floats(0, 1)).map(
    lambda drawn: np.repeat([drawn[1], drawn[3]], [drawn[0], drawn[2]])
)
adversarial = st.lists(st.floats(0, 1e6), max_size=80).map(np.array)
weights = zipf | steps | adversarial
workers = st.integers(1, 64)
rests = st.floats(0, 1e6) | st.integers(0, 100)


def spread(total: float, workers: int, seed: int) -> np.ndarray:
    """What other keys bring to each worker: about the same, or nothing at all."""
    return total * np.random.default_rng(seed).dirichlet(np.full(workers, 50.0))


def loads_of(table: RoutingTable, keys, weights, rest) -> np.ndarray:
    static = table.static
    return planned_loads(static.table, keys, weights, rest, static.arcs)


@settings(max_examples=150)
@given(weights=weights, workers=workers, total=rests, table=st.sampled_from([0, 3, 1000]))
def test_no_load_exceeds_the_bound(weights, workers, total, table):
    keys, rest = KEYS[: weights.size], spread(total, workers, seed=weights.size)
    plan = plan_whole_keys(keys, weights, rest, table=table)
    loads = loads_of(plan, keys, weights, rest)
    assert loads.sum() == pytest.approx(weights.sum() + rest.sum())
    named = np.isin(keys, plan.keys)
    heavy = -np.sort(-weights[named])
    arc = arc_loads(keys[~named], weights[~named], rest, arcs_for(workers)).max()
    bound = max(
        heavy.max(initial=0.0),
        loads.mean() + arc,
        heavy.sum() / workers + (heavy[workers] if heavy.size > workers else 0.0),
    )
    assert loads.max() <= bound * (1 + 1e-6) + 1e-6
    assert plan.keys.size <= table


@settings(max_examples=80)
@given(exponent=st.floats(0, 2.5), workers=workers, seed=st.integers(0, 99))
def test_many_light_keys_reach_what_the_hottest_key_allows(exponent, workers, seed):
    weights = 1 / np.arange(1, KEYS.size + 1) ** exponent
    rest = spread(0.3 * weights.sum(), workers, seed)
    loads = loads_of(plan_whole_keys(KEYS, weights, rest), KEYS, weights, rest)
    assert loads.max() <= 1.02 * max(loads.mean(), weights[0])


@settings(max_examples=50)
@given(weights=weights, workers=workers, total=rests)
def test_workers_are_numbered_by_falling_load(weights, workers, total):
    keys, rest = KEYS[: weights.size], spread(total, workers, seed=workers)
    loads = loads_of(plan_whole_keys(keys, weights, rest), keys, weights, rest)
    assert (np.diff(loads) <= 1e-6 * max(loads.sum(), 1.0)).all()


@settings(max_examples=50)
@given(weights=weights, workers=workers, total=rests)
def test_plans_survive_json_and_routers_follow_them(weights, workers, total):
    keys, rest = KEYS[: weights.size], spread(total, workers, seed=workers)
    plan = plan_whole_keys(keys, weights, rest)
    assert from_json(to_json(plan)) == plan
    routes = plan.router().route(keys)
    np.testing.assert_array_equal(routes, plan.static.route(keys, np.zeros(keys.size, np.uint64)))
    loads = loads_of(plan, keys, weights, np.zeros(workers))
    np.testing.assert_allclose(
        np.bincount(routes, weights, minlength=workers), loads, atol=1e-6 * max(weights.sum(), 1.0)
    )


def test_a_worker_that_a_key_fills_gets_nothing_else():
    weights = np.append(5000.0, np.ones(5000))
    plan = plan_whole_keys(KEYS[:5001], weights, np.zeros(8))
    alone = KEYS[:5001][plan.router().route(KEYS[:5001]) == 0]
    assert alone.tolist() == KEYS[:1].tolist()


def test_faster_workers_get_more_and_keep_their_numbers():
    speeds = np.array([1.0, 4.0, 1.0, 2.0])
    weights = np.append(4000.0, np.ones(8000))
    keys, rest = KEYS[: weights.size], np.full(4, 1000.0)
    plan = plan_whole_keys(keys, weights, rest, capacities=speeds)
    loads = loads_of(plan, keys, weights, rest)
    np.testing.assert_allclose(loads / speeds, 16_000 / 8, rtol=0.01)
    assert plan.router().route(keys[:1]).tolist() == [1]


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_the_rest_of_a_range_is_taken_to_be_even(workers):
    """A fine grid of light keys that key grouping counts comes out as their arcs are taken for."""
    grid = np.arange(0, 2**64, 2**64 // 100_000, dtype=np.uint64)
    ones = np.ones(grid.size)
    by_hash = KeyGrouping(workers).router().route(grid)
    rest = np.bincount(by_hash, ones, minlength=workers)
    known = arc_loads(grid, ones, np.zeros(workers), 256)
    np.testing.assert_allclose(arc_loads(grid[:0], ones[:0], rest, 256), known, atol=2)


@pytest.mark.parametrize("workers", [1, 2, 50, 1000])
def test_arcs_are_even_unless_given(workers):
    hashes = np.random.default_rng(0).permutation(2**20).astype(np.uint64) << np.uint64(44)
    loads = np.bincount(WeightedGrouping(workers).router().route(hashes), minlength=workers)
    assert loads.max() <= 1.01 * loads.mean()


@pytest.mark.parametrize(
    ("owners", "arcs", "message"),
    [
        ([0, 1], [4], "2 owners and 1 numbers of arcs"),
        ([0, 3], [2, 2], r"owners 0\.\.3 are not all in 0\.\.2"),
        ([0, -1], [2, 2], r"owners -1\.\.0 are not all in 0\.\.2"),
        ([0, 1], [2, 1], "3 arcs in all"),
        ([0, 1], [5, -1], "-1 at least"),
        ([0], [1], "1 arcs in all"),
        ([0, 1], [2**62, 2**62], "arcs in all"),
    ],
)
def test_arcs_that_cannot_be_are_refused(owners, arcs, message):
    with pytest.raises(ParameterError, match=message):
        WeightedGrouping(3, np.array(owners), np.array(arcs))
