"""Figures on the cluster: cells that can be judged, and a stateful cell that runs."""

from __future__ import annotations

import pytest
from pyspark.sql import Row as SparkRow

from unskew.errors import SessionError
from unskew.streaming import BatchProgress
from unskew.testing import LocalCluster
from unskew_lab.cluster import PAPERS
from unskew_lab.cluster.counting import BatchResult, Counting, ZipfInput
from unskew_lab.cluster.machines import Running, running, using
from unskew_lab.cluster.proactive import BatchTimes, CompletionTimes
from unskew_lab.cluster.query5 import Query5
from unskew_lab.cluster.stateful import Fluctuating, Merged, Stateful, measured
from unskew_lab.papers.specification import Setting

FIGURES = [(paper, figure) for paper in PAPERS.values() for figure in paper.figures]
WAITS = {"KG": 9.0, "hashing": 9.0, "round robin": 9.0}


def made_up(cell):
    """What a cell would give, were the papers right: the baseline takes nine times as long."""
    if isinstance(cell, Counting):
        seconds = WAITS.get(cell.scheme, 1.0)
        told = SparkRow(begun=0.0, done=seconds, latency=seconds * 100, rows=100)
        partials = {"KG": 10, "SG": 90}.get(cell.scheme, 20)
        return [cell._row([BatchResult(seconds, 0.0, 200, partials, [told, told])] * cell.batches)]
    if isinstance(cell, Stateful):
        longest = WAITS.get(cell.rebalancer, 1.0)
        half = cell.stream.batches // 2
        return [
            cell._row(
                BatchProgress.of(
                    batch,
                    [longest, *[1.0] * ((cell.scaled if batch > half else 0) or cell.workers)][1:]
                    if longest == 1
                    else [longest, *[1.0] * (cell.workers - 1)],
                    longest + 0.1,
                    rows=1000,
                )
            )
            for batch in range(cell.stream.batches)
        ]
    if isinstance(cell, BatchTimes):
        return [
            {"scheme": scheme, "batch": n, "seconds": seconds}
            for scheme, seconds in (("posg", 1.0), ("round robin", 9.0))
            for n in range(cell.batches)
        ]
    if isinstance(cell, Merged):
        return [cell.row(batch, 1000, 1.2) for batch in range(cell.stream.batches)]
    if isinstance(cell, Query5):
        seconds = WAITS.get(cell.rebalancer, 1.0)
        records = [BatchProgress.of(n, [seconds, 1.0], seconds) for n in range(cell.batches)]
        return [cell.row(measured(record)) for record in records]
    assert isinstance(cell, CompletionTimes)
    return [
        {"scheme": scheme, "slots": cell.slots, "completion": WAITS.get(scheme, 1.0)}
        for scheme in ("posg", "round robin", "plain, 1 x slots", "plain, 16 x slots")
    ]


@pytest.mark.parametrize(("paper", "figure"), FIGURES, ids=lambda each: each.name)
@pytest.mark.parametrize("quick", [True, False])
def test_every_figure_can_be_judged_and_drawn(paper, figure, quick):
    cells = figure.cells(Setting(quick=quick))
    assert len({repr(cell) for cell in cells}) == len(cells)
    rows = [row for cell in cells for row in made_up(cell)]
    claims = figure.claims(rows)
    assert claims
    assert all(claim.ours for claim in claims)
    assert figure.plot(rows).panels


def test_targets_are_missed_when_all_are_alike():
    [figure] = PAPERS["consistent-grouping"].pick("12")
    rows = [
        {**row, "throughput": 1.0}
        for cell in figure.cells(Setting(quick=True))
        for row in made_up(cell)
    ]
    held = {claim.claim: claim.holds for claim in figure.claims(rows)}
    assert not any(holds for claim, holds in held.items() if "target" in claim)


def test_without_a_cluster_it_says_so():
    with pytest.raises(SessionError, match="no cluster is running"):
        running()


@pytest.mark.long
@pytest.mark.spark
class TestCells:
    @pytest.fixture
    def up(self, spark, tmp_path):
        # Never started: it is where inputs lie. The tasks run in the tests' own session.
        (tmp_path / "warm").touch()
        with using(Running(LocalCluster(4, folder=tmp_path), spark)) as up:
            yield up

    def test_counting(self, up):
        cell = Counting(ZipfInput("test", 1.2, 50, 400), "KG", 0.1, batches=2)
        [row] = cell.measure()
        assert row["throughput"] == pytest.approx(400 / float(row["seconds"]))
        assert float(row["latency_mean"]) <= float(row["latency_max"])

    def test_stateful(self, up):
        stream = Fluctuating(1.0, batches=5, rows=300, every=2, keys=20, workers=4)
        rows = Stateful(stream, "mixed", cost=0.01, workers=4, scaled=3).measure()
        assert [row["rows"] for row in rows] == [300] * 5
        assert rows[-1]["workers"] == 3
