"""The examples and theorems of paper 002."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rebalancing.cases import HASHES, Case, cases

from unskew.partitioners import RoutingTable
from unskew.rebalancing import (
    KeyStatistics,
    LeastLoadFitDecreasing,
    MinMig,
    MinTable,
    Mixed,
    MixedBruteForce,
    Simple,
    Stop,
)
from unskew.rebalancing.assignment import Assignment
from unskew.rebalancing.discretisation import discretise
from unskew.rebalancing.records import Records

# Figure 4. With two workers the hash of a key is its worker in the top bit.
D1, D2 = 0, 1
K1, K2, K3, K4, K5, K6 = 1, 2, 3, 2**63 + 4, 2**63 + 5, 2**63 + 6
FIGURE_4 = KeyStatistics.of([K1, K2, K3, K4, K5, K6], cost=[7, 4, 2, 1, 5, 1])
TABLE_4 = RoutingTable(2, np.array([K3, K5], dtype=np.uint64), np.array([D2, D1], dtype=np.int32))


def entries(table: RoutingTable) -> dict[int, int]:
    return dict(zip(table.keys.tolist(), table.owners.tolist(), strict=True))


def test_figure_4_llfd_is_level_with_four_entries() -> None:
    plan = LeastLoadFitDecreasing(theta=0).rebalance(FIGURE_4, TABLE_4, workers=2)
    assert plan.loads_before.tolist() == [16, 4]
    assert plan.loads.tolist() == [10, 10]
    assert entries(plan.table) == {K1: D2, K3: D2, K4: D1, K5: D1}


def test_figure_4_mintable_is_level_with_two_entries() -> None:
    plan = MinTable(theta=0, table=2).rebalance(FIGURE_4, TABLE_4, workers=2)
    assert plan.loads.tolist() == [10, 10]
    assert entries(plan.table) == {K2: D2, K4: D1}


def test_figure_6_discretisation_errs_by_nothing_where_steps_err_by_three() -> None:
    costs = np.array([8.0, 6, 3, 2, 2, 1, 1, 1, 1, 1])
    rounded, steps = discretise(costs, degree=4)
    assert (costs - rounded).sum() == 0
    assert set(rounded.tolist()) <= {8.0, 4.0, 2.0, 1.0}
    assert np.unique(steps).size == np.unique(rounded).size
    constant = np.select([costs <= 3, costs <= 6], [2, 5], 8)
    assert abs((costs - constant).sum()) == 3


@given(
    values=st.lists(st.floats(0, 1e9) | st.integers(0, 500).map(float), max_size=200),
    r=st.integers(0, 8),
)
def test_discretised_sums_stay_right(values: list[float], r: int) -> None:
    """The error left is at most half the widest gap: between R/2 and R, or between multiples."""
    amounts = np.array(values)
    rounded, steps = discretise(amounts, degree=2**r)
    assert ((rounded == 0) == (amounts == 0)).all()
    for step in np.unique(steps):
        assert np.unique(rounded[steps == step]).size == 1
    positive = amounts[amounts > 0]
    if positive.size:
        unit = max(positive.min(), positive.max() / 2**52)
        # Only values above the highest representative have no choice: less than R each.
        highest = rounded.max()
        clipped = np.maximum(amounts - highest, 0).sum()
        assert abs((amounts - rounded).sum()) <= clipped + 2**r * unit + 1e-6 * amounts.sum()


@st.composite
def perfect(draw: st.DrawFn) -> tuple[KeyStatistics, int]:
    """Keys that some assignment makes perfectly level, each lighter than the mean."""
    workers, mean = draw(st.integers(2, 5)), draw(st.integers(4, 60))
    costs: list[int] = []
    for _ in range(workers):
        cuts = draw(st.lists(st.integers(1, mean - 1), min_size=1, max_size=4, unique=True))
        costs += np.diff([0, *sorted(cuts), mean]).tolist()
    keys = HASHES[: len(costs)]
    return KeyStatistics.of(keys, costs), workers


@given(instance=perfect())
@settings(max_examples=300)
def test_lemma_3_simple_is_within_a_third(instance: tuple[KeyStatistics, int]) -> None:
    keys, workers = instance
    plan = Simple(theta=0).rebalance(keys, RoutingTable(workers), workers)
    assert plan.loads.max() / plan.mean - 1 <= (1 - 1 / workers) / 3 + 1e-9


@given(instance=perfect())
@settings(max_examples=300)
def test_theorem_1_llfd_is_within_a_third(instance: tuple[KeyStatistics, int]) -> None:
    keys, workers = instance
    bound = (1 - 1 / workers) / 3
    for planner in (LeastLoadFitDecreasing(theta=bound), Mixed(theta=bound, table=None)):
        plan = planner.rebalance(keys, RoutingTable(workers), workers)
        assert plan.loads.max() / plan.mean - 1 <= bound + 1e-9


def test_theorem_2_has_a_counterexample() -> None:
    """The paper says that Mixed is no worse than Simple. Its proof forgets keys that stay put."""
    keys = KeyStatistics.of(
        [0, 1, 2, 3, 4, 2**63, 2**64 - 2, 2**64 - 1], cost=[1, 2, 2, 2, 3, 2, 3, 6]
    )
    simple = Simple(theta=0).rebalance(keys, RoutingTable(3), workers=3)
    mixed = Mixed(theta=0, table=None).rebalance(keys, RoutingTable(3), workers=3)
    assert simple.loads.tolist() == [7, 7, 7]
    assert sorted(mixed.loads.tolist()) == [6, 7, 8]
    assert mixed.stop is Stop.NO_ROOM


@pytest.mark.parametrize("planner", [LeastLoadFitDecreasing(0.01), MinMig(0.01), MinTable(0.01)])
@given(case=cases(scaling=False))
def test_what_does_hold_for_least_load_fit(planner: MinTable, case: Case) -> None:
    """A key that nobody takes goes to the least loaded, which is at most at the mean without it."""
    plan = planner.rebalance(case.keys, case.current, case.workers)
    if plan.stop is Stop.NO_BETTER:
        return
    forced = plan.mean + case.keys.heaviest * (1 - 1 / case.workers)
    assert plan.loads.max() <= max(1.01 * plan.mean, forced) * (1 + 1e-9)


@given(case=cases(), r=st.integers(0, 4), back=st.integers(0, 20))
def test_compact_records_hold_every_key_once(case: Case, r: int, back: int) -> None:
    assignment = Assignment.of(case.keys, case.current, case.workers)
    records = Records.of(assignment, r)
    assert sorted(records.members.tolist()) == list(range(case.keys.size))
    assert records.count.sum() == case.keys.size
    for i in range(records.count.size):
        members = records.members[records.first[i] : records.first[i] + records.count[i]]
        assert (assignment.home[members] == records.home[i]).all()
        assert (assignment.start[members] == records.start[i]).all()
        assert (assignment.previous[members] == records.previous[i]).all()
    moved = records.moved_back(min(back, records.entries))
    assert moved.entries == records.entries - min(back, records.entries)
    rows, workers = moved.keys_of(np.empty((0, 3), dtype=np.int64))
    assert rows.size == min(back, records.entries)
    assert (workers == assignment.home[rows]).all()


@given(case=cases(scaling=False))
def test_the_finest_compact_form_of_whole_numbers_plans_like_the_keys(case: Case) -> None:
    """With R = 1 whole numbers are rounded to themselves, so only equal keys change places."""
    keys = KeyStatistics.of(case.keys.keys, case.keys.cost + 1)
    keys = KeyStatistics.of(np.append(keys.keys, np.uint64(5)), np.append(keys.cost, 1))
    full = MinTable(theta=0.1).rebalance(keys, case.current, case.workers)
    compact = MinTable(theta=0.1, r=0).rebalance(keys, case.current, case.workers)
    assert compact.loads.max() <= max(1.1 * full.mean, full.loads.max()) * (1 + 1e-9) or (
        full.stop is not Stop.LEVEL
    )


@given(case=cases(scaling=False))
def test_brute_force_moves_no_more_than_mixed(case: Case) -> None:
    limits = {"theta": 0.2, "table": 12}
    mixed = Mixed(**limits).rebalance(case.keys, case.current, case.workers)
    brute = MixedBruteForce(**limits).rebalance(case.keys, case.current, case.workers)
    if mixed.stop is brute.stop is Stop.LEVEL:
        assert brute.migration.state <= mixed.migration.state * (1 + 1e-9)


def test_mixed_ends_when_no_table_will_do() -> None:
    keys = KeyStatistics.of(np.arange(50), np.ones(50))
    plan = Mixed(theta=0, table=3).rebalance(keys, RoutingTable(5), workers=5)
    assert plan.loads.tolist() == [10.0] * 5
    assert plan.stop is Stop.TABLE_FULL
    assert plan.table.keys.size == 40


def test_a_key_heavier_than_the_limit_is_told() -> None:
    keys = KeyStatistics.of([1, 2**63, 2**64 - 1], cost=[50, 1, 1])
    for planner in (LeastLoadFitDecreasing(), MinMig(), Mixed()):
        plan = planner.rebalance(keys, RoutingTable(3), workers=3)
        assert plan.stop in (Stop.HEAVY_KEY, Stop.NO_BETTER)


def test_scaling_out_and_in_keeps_the_entries_of_workers_that_stay() -> None:
    keys = KeyStatistics.of(HASHES[:40], np.ones(40))
    owners = np.array([0, 1, 2], dtype=np.int32)
    current = RoutingTable(3, HASHES[:3], owners)
    shrunk = MinMig(theta=9).rebalance(keys, current, workers=2)
    assert 2 not in shrunk.table.owners
    kept = entries(shrunk.table)
    for key, owner in zip(HASHES[:2].tolist(), [0, 1], strict=True):
        assert kept.get(key, owner) == owner
