"""The two papers on planning: their exact examples, and small runs of what the figures share."""

from __future__ import annotations

import numpy as np
import pytest

from unskew.hashing.ring import arc_owners
from unskew_lab.papers import PAPERS
from unskew_lab.papers.partitioning_functions.construction_time import Timed, TimedRing
from unskew_lab.papers.partitioning_functions.growth import SCHEMES, Grown
from unskew_lab.papers.running import reproduce
from unskew_lab.papers.skewness_and_variance.appendix import Adjusted
from unskew_lab.papers.skewness_and_variance.examples import Perfect
from unskew_lab.papers.skewness_and_variance.planning import Hashed, Load, Planned, rivals
from unskew_lab.papers.specification import Setting


@pytest.mark.parametrize(
    ("paper", "figure"),
    [
        ("skewness-and-variance", "4"),
        ("skewness-and-variance", "6"),
        ("partitioning-functions", "1"),
    ],
)
def test_exact_examples_hold(tmp_path, paper, figure):
    (outcome,) = reproduce(PAPERS[paper], Setting(quick=True), tmp_path, figure)
    assert outcome.claims
    assert all(claim.holds for claim in outcome.claims)


@pytest.mark.parametrize("paper", ["skewness-and-variance", "partitioning-functions"])
def test_every_figure_has_cells_that_name_themselves(paper):
    for figure in PAPERS[paper].figures:
        cells, again = (figure.cells(Setting(quick=True)) for _ in range(2))
        assert repr(cells) == repr(again)
        assert "0x" not in repr(cells)


def test_theorem_1_holds_and_theorem_2_does_not():
    (row,) = Perfect(instances=300, seed=1).measure()
    assert row["llfd_of_bound"] <= 1 + 1e-9
    assert row["mixed_above_simple"] > 0
    assert row["level_above_simple"] == 0


def test_planners_see_the_same_intervals():
    rows = Planned(Load(keys=3000, intervals=5), rivals()).measure()
    mixed, mintable, level = rows
    assert level["migration"] <= mixed["migration"] <= mintable["migration"]
    assert max(row["max_over_mean"] for row in rows) <= 1.08 + 1e-9


def test_a_load_repeats():
    first, again = (list(Load(keys=500, intervals=3).statistics()) for _ in range(2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.cost, two.cost)
        np.testing.assert_array_equal(one.memory, two.memory)
    assert not np.array_equal(first[0].cost, first[1].cost)


def test_more_workers_are_more_skewed_under_hashing():
    few, many = (Hashed(5000, workers, deals=5).measure()[0] for workers in (5, 40))
    assert many["max_over_min"] > few["max_over_min"] > 1


def test_minmig_fills_its_table():
    rows = Adjusted(Load(keys=300, intervals=200, workers=5, rate=2.0, window=1), 0.0).measure()
    sizes = [row["table"] for row in rows]
    assert sizes[0] < sizes[-1] <= 300


def test_growing_schemes_keep_their_character():
    rows = {s: Grown(s, domain=5000, runs=1, workers=6, letters="LLL").measure() for s in SCHEMES}
    last = {scheme: found[-1] for scheme, found in rows.items()}
    assert [row["workers"] for row in rows["scan"]] == [2, 3, 4, 5, 6]
    assert last["uniform"]["migration"] > 3 * last["consistent"]["migration"]
    for planner in ("readj", "redist", "scan"):
        assert last[planner]["imbalance"] < last["consistent"]["imbalance"]


def test_a_smaller_sigma_tracks_more_keys():
    small, large = (Timed("scan", sigma=sigma, workers=3).measure()[0] for sigma in (0.05, 0.5))
    assert small["keys"] > large["keys"]


def test_a_ring_is_constructed_anew_every_time():
    before = arc_owners.cache_info()
    (row,) = TimedRing(workers=3).measure()
    assert (row["scheme"], row["workers"]) == ("consistent", 3)
    assert arc_owners.cache_info() == before
