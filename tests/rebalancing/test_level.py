"""Our planner: against the optimum, against the others, and what it says when nothing helps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from tests.rebalancing.cases import HASHES, Case, cases

from unskew.metrics import max_over_mean
from unskew.partitioners import RoutingTable
from unskew.rebalancing import KeyStatistics, Level, MinTable, Mixed, Simple, Stop


def optimum(costs: np.ndarray, workers: int) -> float:
    """The lowest top of any assignment of whole keys, by integer programming."""
    keys = costs.size
    cells = keys * workers
    objective = np.zeros(cells + 1)
    objective[-1] = 1
    once = np.zeros((keys, cells + 1))
    below = np.zeros((workers, cells + 1))
    for key in range(keys):
        once[key, key * workers : (key + 1) * workers] = 1
        for worker in range(workers):
            below[worker, key * workers + worker] = costs[key]
    below[:, -1] = -1
    solved = milp(
        objective,
        constraints=[
            LinearConstraint(csr_array(once), 1, 1),
            LinearConstraint(csr_array(below), -np.inf, 0),
        ],
        integrality=np.append(np.ones(cells), 0),
        bounds=Bounds(0, np.append(np.ones(cells), np.inf)),
    )
    assert solved.success
    return float(solved.fun)


def least_migration(keys: KeyStatistics, workers: int, limit: float) -> float:
    """The least state that any assignment under `limit` moves, by integer programming."""
    count, home = keys.size, RoutingTable(workers).router().route(keys.keys)
    cells = count * workers
    moved = np.repeat(keys.memory, workers)
    moved[np.arange(count) * workers + home] = 0
    once = np.zeros((count, cells))
    below = np.zeros((workers, cells))
    for key in range(count):
        once[key, key * workers : (key + 1) * workers] = 1
        below[np.arange(workers), key * workers + np.arange(workers)] = keys.cost[key]
    solved = milp(
        moved,
        constraints=[
            LinearConstraint(csr_array(once), 1, 1),
            LinearConstraint(csr_array(below), -np.inf, limit),
        ],
        integrality=np.ones(cells),
        bounds=Bounds(0, 1),
    )
    return float(solved.fun) if solved.success else float("inf")


small = st.lists(st.integers(1, 30), min_size=1, max_size=9)


@given(costs=small, workers=st.integers(2, 3))
@settings(max_examples=40)
def test_the_top_is_within_a_third_of_the_optimum(costs: list[int], workers: int) -> None:
    """Level is never above Simple, whose top is at most 4/3 − 1/(3 workers) of the best."""
    keys = KeyStatistics.of(HASHES[: len(costs)], costs)
    plan = Level(theta=0, table=None).rebalance(keys, RoutingTable(workers), workers)
    best = optimum(keys.cost, workers)
    assert best >= plan.bound - 1e-6
    assert plan.loads.max() <= best * (4 / 3 - 1 / (3 * workers)) + 1e-6


@given(
    costs=st.lists(st.integers(1, 20), min_size=12, max_size=16),
    workers=st.integers(2, 3),
)
@settings(max_examples=25)
def test_the_migration_is_near_the_optimum(costs: list[int], workers: int) -> None:
    """A step of greedy choice errs by no more than the heaviest key of an overloaded worker."""
    keys = KeyStatistics.of(HASHES[: len(costs)], costs)
    plan = Level(theta=0.3, table=None).rebalance(keys, RoutingTable(workers), workers)
    if plan.stop not in (Stop.LEVEL, Stop.SETTLED):
        return
    least = least_migration(keys, workers, 1.3 * plan.mean + 1e-9)
    assert least - 1e-6 <= plan.migration.state <= least + (workers - 1) * keys.heaviest + 1e-6


@given(case=cases(scaling=False))
def test_never_above_simple(case: Case) -> None:
    level = Level(theta=0, table=None).rebalance(case.keys, case.current, case.workers)
    simple = Simple(theta=0).rebalance(case.keys, case.current, case.workers)
    assert level.loads.max() <= simple.loads.max() * (1 + 1e-9)


@given(case=cases())
def test_the_table_is_always_within_its_limit(case: Case) -> None:
    for table in (0, 2, 8):
        plan = Level(theta=0.01, table=table).rebalance(case.keys, case.current, case.workers)
        unchanged = plan.table is case.current
        assert plan.table.keys.size <= table or (unchanged and case.current.keys.size <= table)


def skewed(seed: int, keys: int = 20_000) -> KeyStatistics:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, keys + 1) ** 0.85
    counts = rng.poisson(weights / weights.sum() * 20 * keys)
    hashes = rng.integers(0, 2**64, keys, dtype=np.uint64)
    return KeyStatistics.of(hashes, counts, memory=counts + rng.poisson(4 * counts.mean(), keys))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rival", [Mixed(), MinTable()], ids=["mixed", "mintable"])
def test_no_worse_than_a_rival_in_top_table_and_migration(seed: int, rival: Mixed) -> None:
    """Given the rival's top and table size as limits, Level moves no more state."""
    keys, workers = skewed(seed), 15
    first = rival.rebalance(skewed(seed + 100), RoutingTable(workers), workers).table
    for current in (RoutingTable(workers), first):
        theirs = rival.rebalance(keys, current, workers)
        ours = Level(theta=max_over_mean(theirs.loads) - 1, table=theirs.table.keys.size).rebalance(
            keys, current, workers
        )
        assert ours.loads.max() <= theirs.loads.max() * (1 + 1e-9)
        assert ours.table.keys.size <= theirs.table.keys.size
        assert ours.migration.state <= theirs.migration.state
        at_the_same_theta = Level().rebalance(keys, current, workers)
        assert max_over_mean(at_the_same_theta.loads) <= 1.08 + 1e-9
        assert at_the_same_theta.migration.state <= 0.8 * theirs.migration.state


def test_a_key_that_is_too_heavy_is_named_with_what_would_help() -> None:
    keys = KeyStatistics.of([1, 2, 3, 4, 2**63, 2**64 - 1], cost=[50, 1, 1, 1, 1, 1])
    plan = Level().rebalance(keys, RoutingTable(3), workers=3)
    assert plan.stop is Stop.HEAVY_KEY
    assert plan.loads.max() == 50
    assert plan.gap == 0
    assert "key 1 alone" in plan.remarks[0]
    assert "merge" in plan.remarks[0]
    assert "capacity" in plan.remarks[0]


def test_a_full_table_is_told() -> None:
    keys = KeyStatistics.of(np.arange(50), np.ones(50))
    plan = Level(theta=0, table=3).rebalance(keys, RoutingTable(5), workers=5)
    assert plan.stop is Stop.TABLE_FULL
    assert plan.table.keys.size == 3
    assert plan.loads.max() == 47


def test_a_level_load_is_left_alone() -> None:
    keys = KeyStatistics.of([1, 2**63], cost=[1, 1])
    current = RoutingTable(2)
    plan = Level().rebalance(keys, current, workers=2)
    assert plan.table is current
    assert plan.stop is Stop.SETTLED
