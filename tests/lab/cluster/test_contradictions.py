"""Claims of the clusters' figures accept what the papers say, and nothing that contradicts it."""

from __future__ import annotations

import pytest
from tests.lab.cluster.worlds import WORLDS
from tests.lab.papers.test_contradictions import about
from tests.lab.papers.worlds.making import World

from unskew_lab.cluster import PAPERS
from unskew_lab.papers.specification import Figure

FIGURES = [(PAPERS[name], figure) for name in PAPERS for figure in PAPERS[name].figures]
every_figure = pytest.mark.parametrize(
    ("figure", "world"),
    [(figure, WORLDS[paper.name][figure.name]) for paper, figure in FIGURES],
    ids=[f"{paper.name}-{figure.name}" for paper, figure in FIGURES],
)


@every_figure
def test_claims_accept_what_the_paper_says(figure: Figure, world: World) -> None:
    claims = figure.claims(world.rows)
    assert claims
    assert [claim for claim in claims if not claim.holds] == []
    assert figure.plot is not None
    assert figure.plot(world.rows).panels


@every_figure
def test_every_claim_rejects_data_that_contradict_it(figure: Figure, world: World) -> None:
    for part, change in world.against:
        judged = about(list(figure.claims(change(world.rows))), part)
        assert judged, f"no claim has {part!r} in it"
        assert any(not claim.holds for claim in judged), f"{part!r} holds in spite of {judged}"


@every_figure
def test_no_claim_is_left_untried(figure: Figure, world: World) -> None:
    parts = [part for part, _ in world.against]
    for claim in figure.claims(world.rows):
        assert any(part in claim.claim for part in parts), claim.claim


@every_figure
def test_figures_are_measured_three_times(figure: Figure, world: World) -> None:
    assert figure.draws == 3
    assert figure.choices
