"""Every figure of every paper: small, end to end; and in its quick size by hand."""

import json
import sys
from dataclasses import is_dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.workloads import LogNormalStream
from unskew_lab.papers import PAPERS, streams
from unskew_lab.papers.partial_key_grouping import tables
from unskew_lab.papers.running import reproduce
from unskew_lab.papers.specification import Paper, Setting

RESULTS = Path(__file__).parents[3] / "docs" / "results"
OURS = [PAPERS[name] for name in ("consistent-grouping", "partial-key-grouping")]
every_paper = pytest.mark.parametrize("paper", OURS, ids=lambda paper: paper.name)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams of a few thousand rows."""

    def size(setting: Setting, quick: int = 1_000_000, full: int = 10_000_000) -> int:
        return quick // 100

    for name, module in list(sys.modules.items()):
        if name.startswith("unskew_lab.papers") and hasattr(module, "size"):
            monkeypatch.setattr(module, "size", size)
    short = LogNormalStream(1.789, 2.366, 10_000)
    monkeypatch.setattr(tables, "lognormal", lambda setting, number: short)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one short graph."""
    folder = tmp_path / "data"
    folder.mkdir()
    edges = {
        "key": [f"v{i * i % 97}" for i in range(3000)],
        "value": [f"v{i % 89}" for i in range(3000)],
    }
    pq.write_table(pa.table(edges), folder / "slashdot0902_edges.parquet")
    return folder


def two_draws(paper: Paper, name: str) -> Paper:
    """One figure of a paper over fewer draws."""
    return replace(paper, figures=tuple(replace(each, draws=2) for each in paper.pick(name)))


@every_paper
def test_figures_have_names_of_their_own(paper: Paper) -> None:
    names = [figure.name for figure in paper.figures]
    assert len(names) == len(set(names))


@every_paper
@pytest.mark.parametrize("quick", [True, False])
def test_cells_are_descriptions_that_can_be_told_apart(paper: Paper, quick: bool) -> None:
    for figure in paper.figures:
        cells = figure.cells(Setting(quick=quick))
        assert cells or figure.name == "table-1-slashdot"  # which needs the data set itself
        assert all(is_dataclass(cell) for cell in cells)
        assert len({repr(cell) for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    ("paper", "name"),
    [(OURS[0], "bounds"), (OURS[0], "8"), (OURS[1], "table-1"), (OURS[1], "8")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_figure_runs_from_end_to_end(
    paper: Paper, name: str, tiny: None, data: Path, tmp_path: Path
) -> None:
    (outcome,) = reproduce(two_draws(paper, name), Setting(quick=True, data=data), tmp_path)
    assert outcome.figure.name == name
    assert outcome.claims
    assert all(isinstance(claim.holds, bool) for claim in outcome.claims)
    assert (tmp_path / f"figure-{name}.png").exists() == (outcome.figure.plot is not None)


def test_equal_seeds_give_equal_claims(tiny: None, tmp_path: Path) -> None:
    paper = OURS[0]
    first, again = (
        reproduce(two_draws(paper, "7"), Setting(quick=True), tmp_path / name)
        for name in ("a", "b")
    )
    assert [outcome.claims for outcome in first] == [outcome.claims for outcome in again]


def test_stand_ins_have_the_hot_key_of_what_they_stand_for() -> None:
    for keys in (1000, 100_000):
        top = streams.zipf_probabilities(streams.exponent_for(0.0932, keys), keys)[0]
        assert top == pytest.approx(0.0932, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS.keys())
def test_every_verdict_is_the_published_one(paper: Paper, tmp_path: Path) -> None:
    """No claim turns unnoticed: `docs/results` has them as they were last reviewed."""
    published = json.loads((RESULTS / f"{paper.name}.json").read_text())["claims"]
    outcomes = reproduce(paper, Setting(quick=True), tmp_path)
    found = {(row["figure"], row["claim"]): row["holds"] for o in outcomes for row in o.as_rows()}
    known = {(row["figure"], row["claim"]): row["holds"] for row in published}
    assert found == {key: holds for key, holds in known.items() if key in found}


def test_a_draw_is_another_seed_and_another_hash_function() -> None:
    first, second = (streams.zipf(Setting().drawn(draw), 1.0, 50, 2_000) for draw in (0, 1))
    one, two = (np.concatenate(list(each.chunks())) for each in (first, second))
    assert set(one.tolist()).isdisjoint(two.tolist())
    same_seed = streams.Rehashed(first.stream, draw=1)
    again = np.concatenate(list(same_seed.chunks()))
    _, here = np.unique(one, return_inverse=True)
    _, there = np.unique(again, return_inverse=True)
    assert np.bincount(here).tolist() != np.bincount(there).tolist()  # other hashes, other order
    assert sorted(np.bincount(here)) == sorted(np.bincount(there))
