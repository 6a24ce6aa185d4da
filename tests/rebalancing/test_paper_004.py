"""The example of paper 004, and its penalties against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rebalancing.cases import HASHES

from unskew.errors import ParameterError
from unskew.kernels.hash_pair import balance_penalty, place_items, utility
from unskew.kernels.readjusting import readjust_items
from unskew.metrics import max_over_min
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import KeyStatistics, Readj, Redist, Scan
from unskew.rebalancing.assignment import Assignment
from unskew.rebalancing.current_table import table_of
from unskew.rebalancing.hash_pair import tracked
from unskew.rebalancing.resources import Resources, amount

# Figure 1: frequencies of X Z V R U Y W L. The figure prints 24 for U and Y, which is 4² + 3² = 25;
# its ratios are those of 25 where the two differ at all.
FREQUENCY = np.array([5.0, 3, 2, 1, 4, 3, 3, 1])
NETWORK = ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 2, 2, 1, 1, 2, 2])
PROCESSING = ([0, 0, 0, 1, 1, 1, 1, 1], [0, 2, 2, 2, 1, 1, 2, 2])
BOTH = ([0, 0, 0, 1, 1, 1, 1, 1], [0, 2, 2, 0, 1, 1, 2, 0])


@pytest.mark.parametrize(
    ("tables", "network", "processing", "migration"),
    [
        (NETWORK, ([11, 11], [8, 7, 7]), ([39, 35], [34, 25, 15]), 7),
        (PROCESSING, ([10, 12], [5, 7, 10]), ([38, 36], [25, 25, 24]), 10),
        (BOTH, ([10, 12], [7, 7, 8]), ([38, 36], [27, 25, 22]), 10),
    ],
    ids=["for network", "for processing", "for both"],
)
def test_figure_1(
    tables: tuple[list[int], list[int]],
    network: tuple[list[int], list[int]],
    processing: tuple[list[int], list[int]],
    migration: int,
) -> None:
    keys = KeyStatistics.of(np.arange(8), FREQUENCY)
    before, after = (
        table_of(keys.keys, np.array(owner), ConsistentRing(workers))
        for owner, workers in zip(tables, (2, 3), strict=True)
    )
    for table, net, cpu in zip((before, after), network, processing, strict=True):
        owner = table.router().route(keys.keys)
        for growth, expected in (("linear", net), ("quadratic", cpu)):
            loads = np.bincount(owner, weights=amount(growth, FREQUENCY))
            assert loads.tolist() == expected
            assert max_over_min(loads) == max(expected) / min(expected)
    moved = before.router().route(keys.keys) != after.router().route(keys.keys)
    assert keys.memory[moved].sum() == migration
    resources = Resources("linear", "quadratic")
    owner = np.array(tables[1], dtype=np.int32)
    relative = resources.relative_migration(FREQUENCY, np.array(tables[0]), owner, 3)
    assert relative == pytest.approx(migration / (22 / 3))


def test_figure_1_planners_keep_both_in_balance() -> None:
    """No planner need find the figure's table; each must come near its balance."""
    keys = KeyStatistics.of(np.arange(8), FREQUENCY)
    before = table_of(keys.keys, np.array(BOTH[0]), ConsistentRing(2))
    for planner in (Scan, Redist, Readj):
        plan = planner(computation="quadratic").rebalance(keys, before, workers=3)
        owner = plan.table.router().route(keys.keys)
        for growth in ("linear", "quadratic"):
            assert max_over_min(np.bincount(owner, weights=amount(growth, FREQUENCY))) < 1.6


def test_thresholds_of_the_paper() -> None:
    """Equation 17 at the defaults: N = 10, alpha = 1.2, sigma = 0.1."""
    frequency = 1 / np.arange(1, 100_001)
    frequency /= frequency.sum()
    theta = 0.2 / (1 + 1.2 / 9)
    linear = Resources("linear", "constant").threshold(frequency, frequency.size, 0.1, 10)
    assert linear == pytest.approx(0.1 * theta / 10)
    both = Resources("linear", "quadratic").threshold(frequency, frequency.size, 0.1, 10)
    assert both == pytest.approx(linear)
    alone = Resources("quadratic", "quadratic").threshold(frequency, frequency.size, 0.1, 10)
    predicted = (frequency**2).sum()
    assert alone <= linear
    quadratic = np.sqrt(0.1 * theta * predicted / 10)
    assert quadratic > linear


def test_a_constant_resource_is_not_weighed() -> None:
    assert Resources("constant", "constant").weights() == {"linear": 1.0}
    assert Resources("linear", "quadratic").weights() == {
        "linear": pytest.approx(2 / 3),
        "quadratic": pytest.approx(1 / 3),
    }


@given(
    loads=st.lists(st.integers(0, 50), min_size=2, max_size=6),
    migration=st.floats(0, 5),
)
def test_penalties_and_utilities_by_their_formulas(loads: list[int], migration: float) -> None:
    row = np.array([loads], dtype=float)
    theta = 0.2
    rho = balance_penalty(row, np.array([1.0]), theta)
    mean = row.mean()
    assert rho == pytest.approx((row.max() - row.min()) / (theta * mean) if mean else 0.0)
    expected = [
        rho,
        rho + migration,
        rho + np.log(1 + migration),
        rho * (1 + migration),
        rho * (1 + np.log(1 + migration)),
    ]
    for kind, value in enumerate(expected):
        assert utility(kind, rho, migration) == pytest.approx(value)


def check_each_step(
    owner: list[int], frequency: np.ndarray, old: list[int], theta: float, workers: int
) -> None:
    """Algorithm 2 step by step, for one linear resource and the sum of both penalties.

    Each item goes where the utility is least; of two that rounding alone tells apart, to either.
    """
    ideal = frequency.sum() / workers
    loads, moved = np.zeros(workers), 0.0
    for item, amount_ in enumerate(frequency):
        utilities = []
        for worker in range(workers):
            trial = loads.copy()
            trial[worker] += amount_
            rho = (trial.max() - trial.min()) / (theta * trial.mean())
            gamma = (moved + (amount_ if worker != old[item] else 0)) / ideal
            utilities.append(rho + gamma)
        chosen = owner[item]
        assert utilities[chosen] == pytest.approx(min(utilities), rel=1e-9)
        moved += amount_ if chosen != old[item] else 0
        loads[chosen] += amount_


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    data=st.data(),
    workers=st.integers(2, 4),
)
def test_scan_follows_the_listing(counts: list[int], data: st.DataObject, workers: int) -> None:
    frequency = np.sort(np.array(counts, dtype=float))[::-1].copy()
    old = data.draw(
        st.lists(st.integers(0, workers - 1), min_size=len(counts), max_size=len(counts))
    )
    ideal, theta = float(frequency.sum() / workers), 0.17
    out = np.zeros(frequency.size, dtype=np.int32)
    place_items(
        frequency, frequency[None, :], np.array([1.0]), frequency, np.array(old, dtype=np.int32),
        theta, 1, 0.0, ideal, workers, True, out,
    )  # fmt: skip
    check_each_step(out.tolist(), frequency, old, theta, workers)


@given(counts=st.lists(st.integers(1, 30), min_size=2, max_size=12), workers=st.integers(2, 4))
def test_readj_ends_where_no_move_or_swap_helps(counts: list[int], workers: int) -> None:
    frequency = np.sort(np.array(counts, dtype=float))[::-1].copy()
    owner = np.zeros(frequency.size, dtype=np.int32)
    readjust_items(
        frequency, frequency[None, :], np.array([1.0]), frequency, owner.copy(), 0.17, 1, 0.0,
        float(frequency.sum() / workers), workers, 10**6, owner,
    )  # fmt: skip

    def spread(owner: np.ndarray) -> float:
        return float(np.ptp(np.bincount(owner, weights=frequency, minlength=workers)))

    reached = spread(owner)
    for one in range(frequency.size):
        for worker in range(workers):
            moved = owner.copy()
            moved[one] = worker
            assert spread(moved) >= reached - 1e-6
        for two in range(frequency.size):
            swapped = owner.copy()
            swapped[one], swapped[two] = owner[two], owner[one]
            assert spread(swapped) >= reached - 1e-6


def test_items_move_no_more_often_than_allowed() -> None:
    frequency = np.arange(40, 0, -1, dtype=float)
    owner = np.zeros(40, dtype=np.int32)
    steps = readjust_items(
        frequency, frequency[None, :], np.array([1.0]), frequency, owner.copy(), 0.17, 0, 0.0,
        float(frequency.sum() / 4), 4, 1, owner,
    )  # fmt: skip
    assert 0 < steps <= 40


def test_growing_from_one_worker_tracks_the_frequent_keys_only() -> None:
    frequency = 1 / np.arange(1, 20_001)
    rng = np.random.default_rng(5)
    keys = KeyStatistics.of(rng.integers(0, 2**64, 20_000, dtype=np.uint64), frequency)
    for planner in (Scan(), Redist(), Readj()):
        table = RoutingTable(1, base=ConsistentRing(1))
        for workers in range(2, 6):
            plan = planner.rebalance(keys, table, workers)
            table = plan.table
            assert set(table.keys) <= set(keys.keys[tracked(keys, Resources(), 0.1, workers)])
        assert max_over_min(plan.loads) < max_over_min(
            Assignment.of(keys, RoutingTable(5, base=ConsistentRing(5)), 5).loads
        )


def test_keys_no_longer_frequent_go_home() -> None:
    keys = KeyStatistics.of(HASHES[:60], np.append(np.full(4, 1000), np.ones(56)))
    base = ConsistentRing(4)
    light = keys.keys[keys.cost == 1][:3]
    homes = base.router().route(light)
    table = RoutingTable(4, light, ((homes + 1) % 4).astype(np.int32), base)
    plan = Redist().rebalance(keys, table, workers=4)
    assert not set(light.tolist()) & set(plan.table.keys.tolist())


def test_the_tolerance_that_is_asked_is_the_one_that_is_planned_for():
    """One load at (1 + theta) times the mean, the others alike: that is alpha for so many."""
    for workers, theta in ((2, 0.1), (15, 0.08), (40, 0.0)):
        planner = Readj(theta=theta)
        loads = np.full(workers, (workers - 1 - theta) / (workers - 1))
        loads[0] = 1 + theta
        assert planner.resources(workers).alpha == pytest.approx(loads.max() / loads.min())
    keys = KeyStatistics.of(np.arange(400, dtype=np.uint64) << np.uint64(54), np.arange(1, 401))
    loose, tight = (
        Readj(sigma=0.5, theta=theta).rebalance(keys, RoutingTable(4), 4) for theta in (0.5, 0.02)
    )
    assert tight.loads.max() <= loose.loads.max()


def test_a_tolerance_below_0_is_refused():
    with pytest.raises(ParameterError, match="theta"):
        Scan(theta=-0.1)
