"""The benchmark of rows that differ in cost: its data, its figures, and a small run."""

from __future__ import annotations

import numpy as np
import pytest

from unskew_lab.benchmarks import costs
from unskew_lab.benchmarks.costs import OFF, OURS, REMEMBERED, CostJob

CASES = {case.name: case for case in costs.CASES}
HEAVY = "pareto, heaviest row 1.0 of a slot"


@pytest.mark.parametrize("slots", costs.SLOTS)
@pytest.mark.parametrize("name", CASES)
def test_costs_are_those_that_the_names_say(name, slots):
    drawn = CASES[name].draw(slots, 10.0)
    assert drawn.min() > 0
    assert 0.85 * slots * 10 < drawn.sum() < slots * 10.01
    heaviest = {HEAVY: 10.0, "pareto, heaviest row 0.5 of a slot": 5.0}
    assert drawn.max() == pytest.approx(heaviest.get(name, drawn.max()))
    if name == "1 % of rows cost 500 x":
        assert (drawn == drawn.max()).mean() == pytest.approx(0.01, rel=0.1)
        assert drawn.max() == pytest.approx(500 * drawn.min())
    # The same rows every time: ways are compared on them.
    np.testing.assert_array_equal(drawn, CASES[name].draw(slots, 10.0))


def figures(name, seconds, times):
    job = CostJob(None, CASES[name], 16, seconds, None)
    return {(row.name.split(": ")[1], row.against): row for row in job.measurements(times)}


def test_figures_are_beside_the_bound_and_the_best_plain_way():
    times = {"empty": [1.0], "1 x": [90.0], "4 x": [61.0, 63.0], "64 x": [80.0]}
    found = figures(HEAVY, 30.0, {**times, OURS: [31.0], OFF: [50.0], REMEMBERED: [55.0]})
    best = "the best plain way, 4 x"
    assert found[OURS, "the bound"].ratio == pytest.approx(1.0)
    assert found[OURS, best].ratio == pytest.approx(0.5)
    assert [found[name, best].met for name in (OURS, OFF, REMEMBERED)] == [True, True, False]
    assert found[OFF, best].target == pytest.approx(1 / 1.2)
    assert found["1 x", "the bound"].target is None


def test_no_target_is_above_what_is_possible():
    times = {"empty": [1.0], "1 x": [33.0], OURS: [32.0], OFF: [32.0], REMEMBERED: [32.0]}
    found = figures(HEAVY, 30.0, times)
    assert found[OURS, "the best plain way, 1 x"].target == pytest.approx(31 / 33)
    assert figures("equal costs", 30.0, times)[OURS, "the best plain way, 1 x"].target == 1.03


@pytest.mark.spark
def test_every_way_runs_and_returns_all_rows(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "PLAIN", (1, 2))
    job = CostJob(spark, CASES[HEAVY], 2, 0.02, tmp_path)
    times = job.times(1)
    assert set(times) == {"empty", "1 x", "2 x", OURS, OFF, REMEMBERED}
    assert [len(each) for each in times.values()] == [1] * 6
    assert (tmp_path / "memory").exists()
