"""The guarantees of every planner; a planner joins by being listed in `ALL`."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rebalancing.cases import cases, loads_under, planners

from unskew.errors import ParameterError
from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import ALL, KeyStatistics, Stop

every_algorithm = pytest.mark.parametrize("algorithm", ALL)
any_settings = given(data=st.data())
some = settings(max_examples=50)
few = settings(max_examples=10)


@every_algorithm
@some
@any_settings
def test_the_forecast_is_what_the_table_makes(algorithm: str, data: st.DataObject) -> None:
    planner, case = data.draw(planners(algorithm)), data.draw(cases())
    plan = planner.rebalance(case.keys, case.current, case.workers)
    np.testing.assert_allclose(plan.loads, loads_under(plan.table, case.keys), atol=1e-9)
    np.testing.assert_allclose(plan.loads_before, loads_under(case.current, case.keys), atol=1e-9)
    assert plan.workers == plan.loads.size == case.workers


@every_algorithm
@some
@any_settings
def test_the_migration_is_the_difference_of_the_tables(algorithm: str, data: st.DataObject) -> None:
    planner, case = data.draw(planners(algorithm)), data.draw(cases())
    plan = planner.rebalance(case.keys, case.current, case.workers)
    before = case.current.router().route(case.keys.keys)
    after = plan.table.router().route(case.keys.keys)
    moved = before != after
    order = np.argsort(plan.migration.keys)
    np.testing.assert_array_equal(plan.migration.keys[order], case.keys.keys[moved])
    np.testing.assert_array_equal(plan.migration.sources[order], before[moved])
    np.testing.assert_array_equal(plan.migration.targets[order], after[moved])
    assert plan.migration.state == pytest.approx(case.keys.memory[moved].sum())


@every_algorithm
@some
@any_settings
def test_the_table_is_lean_and_bounded_or_says_why_not(algorithm: str, data: st.DataObject) -> None:
    planner, case = data.draw(planners(algorithm)), data.draw(cases())
    plan = planner.rebalance(case.keys, case.current, case.workers)
    limit = getattr(planner, "table", None)
    if limit is not None and plan.table.keys.size > limit:
        assert plan.stop is Stop.TABLE_FULL
    if plan.table is not case.current:
        assert (plan.table.owners != plan.table.fallback.router().route(plan.table.keys)).all()
        assert type(plan.table.fallback) is type(case.current.fallback)


@every_algorithm
@some
@any_settings
def test_never_worse_than_doing_nothing(algorithm: str, data: st.DataObject) -> None:
    planner, case = data.draw(planners(algorithm)), data.draw(cases(scaling=False))
    limit = getattr(planner, "table", None)
    if limit is not None and case.current.keys.size > limit:
        return
    plan = planner.rebalance(case.keys, case.current, case.workers)
    assert plan.loads.max() <= plan.loads_before.max() * (1 + 1e-9)


@every_algorithm
@some
@any_settings
def test_plans_repeat_and_leave_their_input_alone(algorithm: str, data: st.DataObject) -> None:
    planner, case = data.draw(planners(algorithm)), data.draw(cases())
    before = pickle.dumps((case.keys, case.current))
    first, again = (planner.rebalance(case.keys, case.current, case.workers) for _ in range(2))
    assert first.table == again.table
    assert first.stop is again.stop
    assert pickle.dumps((case.keys, case.current)) == before
    columns = case.keys
    turned = KeyStatistics.of(
        columns.keys[::-1], columns.cost[::-1], columns.memory[::-1], columns.frequency[::-1],
        unlisted=columns.unlisted,
    )  # fmt: skip
    assert planner.rebalance(turned, case.current, case.workers).table == first.table


@every_algorithm
@some
@any_settings
def test_the_plan_tells_about_itself(algorithm: str, data: st.DataObject) -> None:
    planner, case = data.draw(planners(algorithm)), data.draw(cases())
    plan = planner.rebalance(case.keys, case.current, case.workers)
    told = plan.to_json()
    assert told["table_size"] == plan.table.keys.size
    assert told["migrated_keys"] == plan.migration.keys.size
    assert 0 <= told["migration_fraction"] <= 1 + 1e-9
    assert plan.gap >= -1e-9
    assert plan.stop.value in plan.explain()


@every_algorithm
@few
@any_settings
def test_no_keys_at_all(algorithm: str, data: st.DataObject) -> None:
    planner = data.draw(planners(algorithm))
    plan = planner.rebalance(KeyStatistics.of([], []), RoutingTable(3), workers=5)
    assert plan.loads.tolist() == [0.0] * 5
    assert plan.table.keys.size == 0


@every_algorithm
@few
@any_settings
def test_no_workers_are_refused(algorithm: str, data: st.DataObject) -> None:
    planner = data.draw(planners(algorithm))
    with pytest.raises(ParameterError, match="workers=0"):
        planner.rebalance(KeyStatistics.of([1], [1]), RoutingTable(3), workers=0)


@every_algorithm
def test_a_ring_grows_and_shrinks_with_little_migration(algorithm: str) -> None:
    planner = ALL[algorithm]()
    rng = np.random.default_rng(3)
    keys = KeyStatistics.of(rng.integers(0, 2**64, 400, dtype=np.uint64), rng.integers(1, 9, 400))
    table = RoutingTable(4, base=ConsistentRing(4))
    grown = planner.rebalance(keys, table, workers=5)
    assert grown.workers == 5
    assert grown.loads.min() > 0
    shrunk = planner.rebalance(keys, grown.table, workers=3)
    assert shrunk.loads.size == 3
    if planner.algorithm != "simple":
        assert grown.migration_fraction < 0.6


@every_algorithm
def test_planners_are_values_with_defaults(algorithm: str) -> None:
    planner = ALL[algorithm]()
    assert planner.algorithm == algorithm
    assert dataclasses.is_dataclass(planner)
    assert planner == pickle.loads(pickle.dumps(planner)) == dataclasses.replace(planner)
