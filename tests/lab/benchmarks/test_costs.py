"""The benchmark of rows that differ in cost: its data, its figures, and a small run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext

from unskew_lab.benchmarks import costs
from unskew_lab.benchmarks.cost_figures import OFF, OURS, REMEMBERED, CostFigures
from unskew_lab.benchmarks.costs import CostJob

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


def figures(name, seconds, times, empty=1.0):
    """Those of plain ways, which should take a minute each, and of ours."""
    case = CASES[name]
    found = CostFigures(case, 16, seconds, case.draw(16, seconds), times)
    found.expected = {f"{more} x": [60.0, 60.0] for more in (1, 4, 64)}
    found.tasks = {name: 16 if name == "1 x" else 64 for name in times}
    found.empty = {16: empty, 64: 2 * empty}
    return {(row.name.split(": ")[1], row.against): row for row in found.measurements()}


def test_figures_are_beside_the_bounds_and_the_best_plain_way():
    times = {"1 x": [50.0], "4 x": [61.0, 63.0], OURS: [32.0] * 2, OFF: [50.0] * 2}
    found = figures(HEAVY, 30.0, {**times, REMEMBERED: [55.0] * 2})
    best = "the best plain way, 4 x"
    bound = "the oracle and an empty job of 64 tasks"
    assert ", one deal: " in found["1 x", "the oracle"].name
    assert found[OURS, "the oracle"].ratio == pytest.approx(32 / 30)
    assert (found[OURS, bound].ratio, found[OURS, bound].met) == (pytest.approx(1.0), True)
    assert found[REMEMBERED, bound].met is False
    assert found["4 x", bound].target is None
    assert found["4 x", "list scheduling of its tasks"].ratio == pytest.approx(62 / 60)
    assert found["64 x, by list scheduling", "the oracle"].seconds == 60
    assert found[OURS, best].ratio == pytest.approx(32 / 62)
    assert [found[name, best].met for name in (OURS, OFF, REMEMBERED)] == [True, True, False]
    assert found[OFF, best].target == pytest.approx(1 / 1.2)


def test_no_target_is_above_what_is_possible():
    times = {"1 x": [33.0], OURS: [32.0], OFF: [32.0], REMEMBERED: [32.0]}
    found = figures(HEAVY, 30.0, times)
    assert found[OURS, "the best plain way, 1 x"].target == pytest.approx(31 / 33)
    assert figures("equal costs", 30.0, times)[OURS, "the best plain way, 1 x"].target == 1.03


def test_only_whole_deals_count_behind_the_first():
    times = {"1 x": [50.0, 1.0], "4 x": [60.0, 1.0], OURS: [40.0, 1.0], REMEMBERED: [40.0]}
    found = figures(HEAVY, 30.0, times)
    assert {row.seconds for row in found.values()} == {40.0, 50.0, 60.0}
    assert all(", one deal: " in row.name for row in found.values())
    assert figures(HEAVY, 30.0, {"1 x": [50.0]})["1 x", "the oracle"].seconds == 50
    assert figures(HEAVY, 30.0, {"1 x": [50.0], OURS: [40.0]})[OURS, "the oracle"].seconds == 40


@pytest.mark.spark
def test_every_way_runs_and_returns_all_rows(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "PLAIN", (1, 2, 3))
    job = CostJob(spark, CASES[HEAVY], 2, 0.02, tmp_path)
    rows = list(job.figures(2))
    runs = {name: len(each) for name, each in job.found.times.items()}
    plain = [runs.pop(f"{more} x") for more in (1, 2, 3)]
    assert sorted(plain) == [1, 2, 2]
    assert runs == {OURS: 2, REMEMBERED: 2, OFF: 2}
    assert set(job.found.times) < {row.name.split(": ")[1] for row in rows}
    assert (tmp_path / "memory").exists()


@pytest.mark.spark
@pytest.mark.parametrize("more", [1, 3])
def test_tasks_are_expected_to_cost_what_they_do(spark, tmp_path, more):
    """Spark deals rows as it does for the map itself."""
    job = CostJob(spark, CASES[HEAVY], 2, 0.02, tmp_path)
    rows = job.dealt(0)

    def added(batches):
        task = TaskContext.get().partitionId()
        total = sum(float(batch.column("cost").to_numpy().sum()) for batch in batches)
        yield pa.record_batch({"task": pa.array([task], pa.int32()), "load": pa.array([total])})

    parts = job.parted(rows, more).mapInArrow(added, "task int, load double").collect()
    loads = [row["load"] for row in sorted(parts, key=lambda row: row["task"])]
    np.testing.assert_allclose(job.loads(rows, more)[: len(loads)], loads)


@pytest.mark.spark
def test_a_run_that_is_cut_short_keeps_its_figures(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "PLAIN", (1, 2))
    job = CostJob(spark, CASES["log-normal, sigma 2.5"], 2, 0.02, tmp_path)
    ways = CostJob.ways

    def cut(self, deal):
        if deal == 1:
            raise KeyboardInterrupt
        return ways(self, deal)

    monkeypatch.setattr(CostJob, "ways", cut)
    rows = []
    with pytest.raises(KeyboardInterrupt):
        rows.extend(job.figures(3))
    assert {row.name.split(": ")[1] for row in rows} == {"1 x", "2 x", OURS, REMEMBERED}
    assert all(", one deal: " in row.name for row in rows)
