"""The paper on scheduling by cost, on small streams: every figure measures, judges and draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from unskew.partitioners import FullKnowledge, ShuffleGrouping
from unskew.simulator.completion import CostlyRows, complete
from unskew_lab.papers.proactive import PAPER
from unskew_lab.papers.proactive.bounds import BOUNDS, Expectation, formula
from unskew_lab.papers.proactive.loads import FIG4, FIG5
from unskew_lab.papers.proactive.memory import Memory
from unskew_lab.papers.proactive.parameters import FIGURES
from unskew_lab.papers.proactive.streams import (
    ORACLE,
    POSG,
    ROUND_ROBIN,
    WRITTEN,
    Costs,
    Scheduled,
    late_knowledge,
)
from unskew_lab.papers.proactive.timeline import Change
from unskew_lab.papers.reading import the, where
from unskew_lab.papers.specification import Setting

QUICK = Setting(quick=True)


@pytest.mark.parametrize("figure", [FIG4, FIG5, *FIGURES], ids=lambda figure: figure.name)
def test_every_sweep_measures_judges_and_draws(figure):
    cells = [
        replace(cell, streams=1, costs=replace(cell.costs, messages=2_048))
        for cell in figure.cells(QUICK)
    ]
    # Figure 8 tells its long streams by their length.
    rows = [
        {**row, "rows": whole.costs.messages}
        for cell, whole in zip(cells, figure.cells(QUICK), strict=True)
        for row in cell.measure()
    ]
    assert len(rows) == (9 if figure is FIG4 else 4) * len(cells)
    claims = figure.claims(rows)
    assert claims
    assert all(claim.holds or claim.why or claim.value is not None for claim in claims)
    assert figure.plot(rows).panels


def test_the_example_and_the_theorems_hold():
    rows = [row for cell in BOUNDS.cells(QUICK) for row in cell.measure()]
    assert all(claim.holds for claim in BOUNDS.claims(rows))


def test_memory_follows_the_size_of_the_matrices_and_not_the_stream():
    short, long, fine, many = (
        {row["where"]: row["bytes"] for row in memory.measure()}
        for memory in (
            Memory(rows=16_384),
            Memory(rows=65_536),
            Memory(epsilon=0.005, rows=16_384),
            Memory(workers=20, rows=16_384),
        )
    )
    assert long["worker"] == short["worker"]
    assert long["source"] == pytest.approx(short["source"], rel=0.01)
    assert fine["worker"] == pytest.approx(10 * short["worker"], rel=0.2)
    assert many["worker"] == short["worker"]
    assert many["source"] == pytest.approx(4 * short["source"], rel=0.1)


def test_the_formula_of_theorem_4_3_is_what_sketches_do_on_average():
    rows = Expectation(sketches=30, seed=3).measure()
    assert [the(rows, "ours", cost=cost) for cost in (1, 64)] == pytest.approx(
        [formula(1), formula(64)], abs=0.15
    )


def test_costs_are_dealt_equally_often_and_anew_for_every_stream():
    costs = Costs(values=8, highest=64.0)
    _, _, one = costs.draw(1)
    _, _, other = costs.draw(2)
    values, times = np.unique(one.costs, return_counts=True)
    assert values.tolist() == np.linspace(1, 64, 8).tolist()
    assert set(times.tolist()) == {512}
    assert (one.costs != other.costs).any()


def test_knowing_all_costs_beats_dealing_in_turn():
    rows = Scheduled(1.0, Costs(messages=8_192), streams=3).measure()
    times = {name: the(rows, "milliseconds", scheme=name) for name in (ROUND_ROBIN, POSG, ORACLE)}
    assert times[ORACLE] < times[ROUND_ROBIN]
    # 8,192 rows are fewer than two windows for each of five workers: POSG is still round robin.
    assert times[POSG] == times[ROUND_ROBIN]


def test_late_knowledge_is_round_robin_and_then_the_oracle():
    keys, costs, known = Costs(messages=4_096).draw(5)
    rows = CostlyRows.at_rate(keys, costs, 4)
    never, late, always = (late_knowledge(known, rows, 4, left) for left in (4_096, 1_024, 0))
    assert never.mean == complete(ShuffleGrouping(4), rows).mean
    assert always.mean == complete(FullKnowledge(4, known), rows).mean
    assert always.mean < late.mean < never.mean


def test_figure_10_leaves_round_robin_after_two_windows_and_equation_1_after_four():
    rows = Change(seed=42).measure()
    left = {name: where(rows, scheme=name)[0]["left"] for name in (POSG, WRITTEN)}
    assert 10_240 < left[POSG] < 12_000
    assert 20_480 < left[WRITTEN] < 26_000


def test_names_of_figures_do_not_repeat():
    names = [figure.name for figure in PAPER.figures]
    assert len(set(names)) == len(names)
