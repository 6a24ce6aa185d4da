"""The forecast of maps by cost; no Spark session needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.planning.machine import Machine
from unskew._spark.planning.map_ways import AS_IS, HEAVY_FIRST, MapJob, packed
from unskew._spark.planning.row_costs import PARTITION_BITS, RowCosts


def job(
    costs: np.ndarray,
    slots: int,
    partitions: int,
    repeats: bool = True,
    homes: np.ndarray | None = None,
) -> MapJob:
    """Rows in the order of their partitions, of which all have as many if not given."""
    if homes is None:
        homes = np.arange(costs.size) * partitions // costs.size
    order = np.argsort(-costs, kind="stable")[: 8 * slots]
    places = homes[order].astype(np.int64) << PARTITION_BITS
    light = np.delete(np.arange(costs.size), order)
    rests = np.bincount(homes[light], costs[light], partitions).astype(np.float64)
    known = RowCosts(costs.size, float(costs.sum()), costs[order], places, rests)
    return MapJob(
        Machine(slots, slots), known.known(known.total / slots / 16), partitions, 8.0, repeats
    )


def seconds_of(job: MapJob) -> dict[str, float]:
    return {way.name: way.seconds for way in job.ways()}


def test_a_row_as_heavy_as_a_slots_work_goes_first():
    costs = np.full(800, 0.1)
    costs[799] = 10.0
    found = seconds_of(job(costs, slots=8, partitions=64))
    assert min(found, key=found.__getitem__) == HEAVY_FIRST
    assert found[AS_IS] > 18
    assert found[HEAVY_FIRST] < 13


def test_equal_rows_stay():
    ways = job(np.full(800, 0.1), slots=8, partitions=8).ways()
    stay = next(way for way in ways if way.name == AS_IS)
    assert stay.seconds < 1.03 * min(way.seconds for way in ways)


def test_light_rows_stay_where_partitions_are_many_and_the_input_repeats():
    costs = np.full(200_000, 0.0005)
    costs[-1] = 12.0
    best = next(way for way in job(costs, 8, 64).ways() if way.by_cost)
    assert (best.heavy, best.chunks, best.tasks) == (1, 0, 65)
    best = next(way for way in job(costs, 8, 64, repeats=False).ways() if way.by_cost)
    assert best.chunks
    best = next(way for way in job(costs, 8, 16).ways() if way.by_cost)
    assert best.chunks


def ended(costs: np.ndarray, guesses: np.ndarray, slots: int) -> float:
    """When the way by cost that looks best by the guesses ends in truth, without Spark's own time.

    Of rows that are not known one by one the mean is taken: they are light.
    """
    asked = job(guesses, slots, partitions=slots)
    way = next(each for each in asked.ways() if each.by_cost)
    known = np.argsort(-guesses, kind="stable")[: asked.costs.top.size]
    light, rest = costs[known[way.heavy :]], np.delete(costs, known).sum()
    if way.chunks:
        homes, _ = packed(guesses[known[way.heavy :]], 0.0, way.chunks)
    else:
        homes = known[way.heavy :] * slots // costs.size
    tasks = way.chunks or slots
    loads = np.bincount(homes, light, tasks) + rest / tasks
    return Machine(slots, slots).makespan(np.append(costs[known[: way.heavy]], loads))


@pytest.mark.parametrize("slots", [8, 16, 32])
def test_estimates_off_by_half_cost_a_tenth_in_the_mean(slots):
    """The heaviest row is worth all work of a slot."""
    drawn = np.random.default_rng(7)
    found = []
    for _ in range(30):
        costs = drawn.pareto(1.1, 60 * slots) + 1
        costs[costs.argmax()] = 0
        costs = np.minimum(costs / costs.sum() * (slots - 1), 1.0)
        costs[costs.argmin()] = 1.0
        guesses = costs * drawn.uniform(0.5, 1.5, costs.size)
        possible = max(costs.max(), costs.sum() / slots)
        found.append(ended(30 * costs, 30 * guesses, slots) / 30 / possible)
    assert np.mean(found) < 1.1


def test_rows_in_unlike_partitions_are_levelled_though_none_is_heavy():
    costs = np.concatenate([np.full(40, 1.0), np.full(360, 0.001)])
    best = job(costs, slots=4, partitions=10).ways()[0]
    assert best.name == HEAVY_FIRST


@pytest.mark.parametrize("partitions", [8, 128])
def test_light_rows_that_are_mostly_in_one_partition_are_levelled(partitions):
    homes = np.where(np.arange(80_000) < 40_000, 3, np.arange(80_000) % partitions)
    found = seconds_of(job(np.full(80_000, 0.001), 4, partitions, homes=homes))
    assert found[HEAVY_FIRST] < 25
    assert found[AS_IS] > 40


def test_rest_is_kept_however_it_is_told():
    drawn = np.random.default_rng(4)
    asked = job(drawn.pareto(1.5, 500), slots=2, partitions=50).costs
    for costs in (asked, asked.known(asked.top[2]), asked.scaled(3.0)):
        assert costs.rests.sum() == pytest.approx(costs.rest)


@given(
    st.lists(st.floats(0.01, 9), max_size=60),
    st.floats(0, 9),
    st.integers(1, 12),
)
def test_chunks_hold_all_rows_and_are_level(costs, rest, chunks):
    single = np.sort(np.array(costs))[::-1]
    homes, loads = packed(single, rest, chunks)
    assert loads.sum() == pytest.approx(single.sum() + rest)
    np.testing.assert_allclose(
        np.bincount(homes, single, chunks) + rest / chunks, loads, rtol=1e-9, atol=1e-9
    )
    assert (np.diff(loads) <= 1e-9).all()
    assert loads[0] <= loads.mean() + single.max(initial=0.0) + 1e-9
