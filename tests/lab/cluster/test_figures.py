"""Cells of the clusters' figures: descriptions, and tiny ones that run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from unskew.errors import SessionError
from unskew.testing import LocalCluster
from unskew_lab.cluster import PAPERS
from unskew_lab.cluster.inputs import ZipfBatches
from unskew_lab.cluster.machines import SLOTS, Running, running, using
from unskew_lab.cluster.periods import Periodic
from unskew_lab.cluster.scaling_out import SIGMAS, ScaledOut
from unskew_lab.cluster.stateful import Fluctuating, Ideal, Merged, Stateful
from unskew_lab.cluster.streamed import EQUAL, Streamed
from unskew_lab.papers.specification import Setting

FIGURES = [(paper, figure) for paper in PAPERS.values() for figure in paper.figures]


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=lambda each: each.name)
@pytest.mark.parametrize("quick", [True, False])
def test_cells_can_be_told_apart_and_draws_too(paper, figure, quick):
    setting = Setting(quick=quick)
    names = [repr(cell) for cell in figure.cells(setting)]
    assert len(set(names)) == len(names)
    other = {repr(cell) for cell in figure.cells(setting.drawn(1))}
    assert not other & set(names)


def test_consistent_grouping_is_measured_with_the_papers_stream_and_workers():
    for figure in PAPERS["consistent-grouping"].figures:
        for cell in figure.cells(Setting()):
            assert cell.workers == sum(SLOTS) == 24
            keys = np.concatenate(list(cell.stream.ids()))
            assert np.unique(keys, return_counts=True)[1].max() / keys.size == pytest.approx(
                0.0267, rel=0.03
            )
            break
    [figure] = PAPERS["partial-key-grouping"].pick("10c")
    assert [cell.workers for cell in figure.cells(Setting())] == [16, 8, 8]


def test_a_plan_is_late_where_its_batch_had_other_frequencies():
    found = {every: [Fluctuating(1.0, 8, 300, every).late(b) for b in range(8)] for every in (2, 4)}
    assert found == {2: [True] * 8, 4: [True, True, False, False] * 2}


def test_plans_for_one_worker_more():
    mixed, readj = ScaledOut(theta=0.3, seed=1, keys=2_000).measure()
    assert [mixed["planner"], readj["planner"]] == ["mixed", "readj"]
    assert readj["sigma"] in SIGMAS
    assert max(mixed["max_over_mean"], readj["max_over_mean"]) <= 1.3


def test_without_a_cluster_it_says_so():
    with pytest.raises(SessionError, match="no cluster is running"):
        running()


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.classic("the cluster's sessions are classic")
class TestCells:
    @pytest.fixture
    def up(self, spark, tmp_path):
        # Never started: it is where inputs lie. The tasks run in the tests' own session.
        (tmp_path / "warm").touch()
        with using(Running(LocalCluster(len(SLOTS), folder=tmp_path), spark)) as up:
            yield up

    @pytest.mark.parametrize("scheme", ["KG", "CG"])
    def test_a_stream_under_a_scheme(self, up, scheme):
        stream = ZipfBatches("test", 1.2, 50, rows=400, batches=2)
        rows = Streamed(stream, scheme, 0.5, workers=4).measure()
        assert [row["rows"] for row in rows] == [400, 400]
        assert [row["grace"] for row in rows] == [True, False]
        for row in rows:
            assert 0 < row["latency"] < row["seconds"]
            assert row["span"] < row["seconds"]
        speeds = [up.cluster._speed_file(number).read_text() for number in range(len(SLOTS))]
        assert list(map(float, speeds)) == list(EQUAL)

    def test_counters_are_sent_once_a_period(self, up):
        stream = ZipfBatches("test", 1.2, 50, rows=400, batches=3)
        cell = Periodic(stream, "PKG", 0.05, workers=4, period=3)
        rows = cell.measure()
        assert [row["rows"] for row in rows] == [400] * 3
        keys = np.unique(np.concatenate(list(stream.ids()))).size
        assert keys <= rows[0]["counters"] <= 2 * keys
        never = dataclasses.replace(cell, scheme="KG", period=0)
        assert never.measure()[0]["counters"] == keys

    def test_stateful(self, up):
        stream = Fluctuating(1.0, batches=5, rows=300, every=2, keys=20, workers=4)
        rows = Stateful(stream, "mixed", cost=0.01, workers=4, scaled=3).measure()
        assert [row["rows"] for row in rows] == [150, 150, 300, 300, 300]
        assert rows[-1]["workers"] == 3
        assert [row["late"] for row in rows[2:]] == [True] * 3

    @pytest.mark.parametrize("kind", [Ideal, Merged])
    def test_what_it_is_compared_with(self, up, kind):
        stream = Fluctuating(1.0, batches=2, rows=300, every=2, keys=20, workers=4)
        rows = kind(stream, cost=0.01, workers=4).measure()
        assert [row["rows"] for row in rows] == [150] * 2
