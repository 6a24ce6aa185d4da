"""Forecasts of ways to run a job, from made-up costs; no Spark session needed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.planning.cost_model import CostHints, FunctionCost, StageCost, fitted
from unskew._spark.planning.decision import _sampled
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.planning.ways import Job, Way
from unskew._spark.planning.work import KeySample, KeyWork
from unskew.errors import ParameterError, ParameterTypeError
from unskew.hashing import hash_ids
from unskew.partitioners import KeyGrouping

SLOTS = Machine(slots=8, cores=8)


def profile(counts: np.ndarray, heavy: int, ranges: int = 64) -> KeyProfile:
    """The statistics of keys with these counts, of which the first `heavy` are known by name."""
    keys = hash_ids(np.arange(counts.size))
    owners = KeyGrouping(ranges).router().route(keys)
    loads = np.bincount(owners, counts, minlength=ranges).astype(float)
    return KeyProfile(
        ranges,
        int(counts.sum()),
        counts.size,
        0,
        loads,
        keys[:heavy],
        counts[:heavy],
        0.0,
        "made up",
    )


def zipf(rows: int, keys: int, slope: float) -> np.ndarray:
    weights = 1.0 / np.arange(1, keys + 1) ** slope
    return np.ceil(rows * weights / weights.sum())


def job(counts: np.ndarray, cost: FunctionCost, merges: bool = True, partitions: int = 16) -> Job:
    work = KeyWork.of(profile(counts, min(counts.size, 1000)), cost)
    merge = FunctionCost(50e-6, 0.0) if merges else None
    return Job(SLOTS, work, cost, merge, partitions, 16.0, None, 200, PlanSettings())


def best(made: Job) -> Way:
    return made.ways()[0]


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 20))
def test_a_makespan_is_what_slots_that_take_the_next_task_need(seconds, slots):
    free = [0.0] * slots
    for each in seconds:
        first = free.index(min(free))
        free[first] += each
    found = Machine(slots, slots).makespan(np.array(seconds))
    assert found == pytest.approx(max(free, default=0.0))


@given(st.integers(1, 100), st.integers(1, 2000), st.integers(1, 300))
def test_loads_of_any_number_of_workers_are_those_of_key_grouping(workers, keys, heavy):
    counts = zipf(10 * keys, keys, 1.0)
    work = KeyWork.of(profile(counts, min(heavy, keys), ranges=workers), FunctionCost(0.0, 1.0))
    owners = KeyGrouping(workers).router().route(hash_ids(np.arange(keys)))
    exact = np.bincount(owners, counts, minlength=workers)
    np.testing.assert_allclose(work.hashed(workers).sum(), counts.sum())
    np.testing.assert_allclose(work.hashed(workers), exact)


def test_sparks_own_work_takes_as_many_times_as_long_as_a_core_does():
    quick, slow = (StageCost(Machine(8, 4, pace), 16.0) for pace in (1.0, 3.0))
    for stage in ("shuffle", "python", "statistics"):
        for rows, tasks in ((1e6, 2), (5e6, 200)):
            taken = getattr(quick, stage)(rows, tasks)
            assert getattr(slow, stage)(rows, tasks) == pytest.approx(3 * taken)
    assert slow.handed_over(1e6) == pytest.approx(3 * quick.handed_over(1e6))
    assert slow.trips("pandas", 1e6, 1e5, 2) == pytest.approx(
        3 * quick.trips("pandas", 1e6, 1e5, 2)
    )
    assert slow.countable(1e9, 8, 6.0) == pytest.approx(quick.countable(1e9, 8, 2.0), rel=0.01)


def test_a_hot_key_that_may_be_split_is_split_where_its_work_is_much():
    costly = job(zipf(200_000, 2000, 1.2), FunctionCost(100e-6, 200e-6), partitions=8)
    plain = next(way for way in costly.ways() if way.name == "plain")
    assert best(costly).name in ("in-place", "planned-split")
    assert plain.seconds > 4 * best(costly).seconds


def test_work_that_is_little_is_neither_split_nor_merged():
    cheap = job(zipf(20_000, 2000, 1.2), FunctionCost(5e-6, 0.1e-6))
    assert best(cheap).name in ("plain", "hash")


@pytest.mark.parametrize("merges", [True, False])
def test_a_function_of_unknown_cost_is_not_packed_into_fewer_tasks_than_slots(merges):
    counts = np.full(16, 100.0)
    free = job(counts, FunctionCost(30e-6, 0.2e-6), merges, partitions=1)
    assert best(free).tasks == 1
    unknown = replace(free, cost=replace(free.cost, certain=False))
    assert {way.tasks for way in unknown.ways()} <= {8, 32}
    assert {way.tasks for way in unknown.unplanned()} == {8, 32}
    asked = replace(unknown, workers=3)
    assert {way.tasks for way in asked.ways()} == {3}


def test_few_input_partitions_are_too_few_for_partial_results_in_place():
    few = job(zipf(200_000, 2000, 1.2), FunctionCost(100e-6, 200e-6), partitions=2)
    assert best(few).name == "planned-split"


@pytest.mark.parametrize(("keys", "way"), [(24, "in-place+table"), (2000, "in-place+hash")])
def test_a_costly_merge_is_planned_itself(keys, way):
    made = job(zipf(200_000, keys, 1.2), FunctionCost(0.0, 200e-6))
    assert best(made).name == "in-place"
    costly = replace(made, merge=FunctionCost(20.0 / keys, 0.0))
    spent = {each.name: each.seconds for each in costly.ways()}
    assert best(costly).name == way
    assert spent["in-place"] > 2 * best(costly).seconds


def test_keys_that_must_stay_whole_get_a_table_where_it_levels():
    whole = job(zipf(200_000, 2000, 0.8), FunctionCost(100e-6, 200e-6), merges=False)
    names = [way.name for way in whole.ways()]
    assert names[0] == "routing-table"
    assert set(names) == {"plain", "hash", "routing-table"}


@pytest.mark.parametrize("merges", [True, False])
def test_planned_ways_are_weighed_with_more_tasks_than_slots_too(merges):
    made = job(zipf(200_000, 2000, 0.8), FunctionCost(100e-6, 200e-6), merges)
    name = "planned-split" if merges else "routing-table"
    assert {way.tasks for way in made.ways() if way.name == name} == {8, 32}
    asked = replace(made, workers=5)
    assert [way.tasks for way in asked.ways() if way.name == name] == [5]


@pytest.mark.parametrize(("rows", "by_spark"), [(100, False), (100_000, True)])
def test_few_large_groups_of_pandas_go_by_sparks_own_call(rows, by_spark):
    made = job(np.full(20, float(rows)), FunctionCost(300e-6, 0.0), merges=False)
    assert not any(way.by_spark for way in made.ways())
    assert best(replace(made, kind="pandas")).by_spark == by_spark


def test_partial_results_never_go_by_sparks_own_call():
    made = replace(job(np.full(20, 1e5), FunctionCost(300e-6, 0.0)), kind="pandas")
    assert {way.name for way in made.ways() if way.by_spark} == {"plain", "hash"}


@pytest.mark.parametrize(
    ("rows", "tasks"), [(24_000, 1), (300_000, 2), (600_000, 4), (2e6, 8), (1e9, 107), (1e10, 200)]
)
def test_spark_packs_few_rows_into_fewer_tasks_than_slots(rows, tasks):
    assert StageCost(Machine(8, 2), 16.0).packed(rows, 200) == tasks


def test_a_function_that_waits_needs_no_core():
    machine = Machine(slots=16, cores=2)
    made = job(zipf(200_000, 2000, 0.5), FunctionCost(0.0, 200e-6, busy=0.01))
    waiting = Job(machine, made.work, made.cost, *list(_rest(made)))
    assert waiting.calls.slots == 16
    working = Job(machine, made.work, FunctionCost(0.0, 200e-6), *list(_rest(made)))
    assert working.calls.slots == 2
    assert best(working).seconds > 4 * best(waiting).seconds


def _rest(made: Job):
    return (
        made.merge,
        made.partitions,
        made.row_bytes,
        made.workers,
        made.shuffle_partitions,
        made.settings,
    )


def test_a_cost_that_grows_with_the_square_is_seen():
    rows = np.array([10, 20, 40, 80, 160, 320])
    squared = fitted([(int(n), 1e-6 * n * n + 1e-5) for n in rows])
    assert squared.power == 2
    assert squared.of(np.array([1000.0]))[0] == pytest.approx(1.0, rel=0.05)
    straight = fitted([(int(n), 1e-6 * n + 1e-5) for n in rows])
    assert straight.power == 1


@given(
    st.lists(
        st.tuples(st.integers(1, 10_000), st.floats(1e-7, 10, allow_subnormal=False)),
        min_size=1,
        max_size=30,
    )
)
def test_a_fitted_cost_is_never_negative(points):
    cost = fitted(points)
    assert cost.per_call >= 0
    assert cost.per_row >= 0
    assert np.isfinite(cost.of(np.array([1e9]))).all()


def test_more_rows_have_more_keys():
    sample = KeySample(rows=2000, keys=400, in_half=280)
    assert sample.keys_in(2000) == pytest.approx(400)
    assert 400 < sample.keys_in(200_000) < 400 * 100
    seen_all = KeySample(rows=2000, keys=20, in_half=20)
    assert seen_all.keys_in(1e9) == pytest.approx(20)


def test_one_whole_key_of_a_few_rows_stands_for_as_many_as_fit_into_the_rest():
    assert KeySample(rows=500, keys=1, in_half=0.5).keys_in(25_000) == pytest.approx(50)
    cost = fitted([(500, 0.1)])
    assert 50 * cost.of(np.array([500.0]))[0] == pytest.approx(5, rel=0.05)
    # A key with ten times the rows takes about ten times as long.
    assert cost.of(np.array([5000.0]))[0] == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("scale", [1, 20])
def test_a_sample_of_skewed_keys_tells_that_hashing_is_uneven(scale):
    counts = zipf(24_000 * scale, 2000, 1.2)
    shares = counts / counts.sum()
    sample = KeySample(8192, 1500, 1000, shares[shares >= 1 / 64].tolist())
    cost = FunctionCost(0.0, 200e-6)
    known = KeyWork.of(profile(counts, 1000), cost).hashed(8).max()
    guessed = _sampled(sample, counts.sum(), cost).hashed(8).max()
    assert guessed == pytest.approx(known, rel=0.4)
    assert guessed > 1.5 * counts.sum() * 200e-6 / 8


def test_keys_in_parts_are_those_of_rows_dealt_at_random():
    random = np.random.default_rng(1)
    counts = zipf(20_000, 3000, 1.1)
    keys = np.repeat(np.arange(counts.size), counts.astype(int))
    pairs = np.unique(keys * 16 + random.integers(0, 16, keys.size)).size
    work = KeyWork.of(profile(counts, 3000), FunctionCost(0.0, 1.0))
    assert work.keys_in_parts(16) == pytest.approx(pairs, rel=0.02)


def test_hints_are_checked():
    with pytest.raises(ParameterError, match="seconds_per_row=-1"):
        CostHints.of(-1, True)
    with pytest.raises(ParameterTypeError, match="pilot='no'"):
        CostHints.of(None, "no")  # type: ignore[arg-type]
