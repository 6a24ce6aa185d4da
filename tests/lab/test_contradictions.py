"""Claims accept the papers' own numbers, and say no to made-up data that contradict them."""

from __future__ import annotations

import pytest
from tests.lab.cluster import worlds as clusters
from tests.lab.papers.worlds import (
    consistent_grouping,
    partial_key_grouping,
    partitioning_functions,
    proactive,
    skewness_and_variance,
)
from tests.lab.papers.worlds.making import World

from unskew_lab import cluster
from unskew_lab.papers import PAPERS
from unskew_lab.papers.specification import Claim, Figure

WORLDS = {
    "consistent-grouping": consistent_grouping.WORLDS,
    "partial-key-grouping": partial_key_grouping.WORLDS,
    "skewness-and-variance": skewness_and_variance.WORLDS,
    "posg": proactive.WORLDS,
    "partitioning-functions": partitioning_functions.WORLDS,
}
FIGURES = {
    f"{where}{name}-{figure.name}": (figure, worlds[name][figure.name])
    for where, papers, worlds in (
        ("", PAPERS, WORLDS),
        ("cluster-", cluster.PAPERS, clusters.WORLDS),
    )
    for name in papers
    for figure in papers[name].figures
}
every_figure = pytest.mark.parametrize(("figure", "world"), FIGURES.values(), ids=FIGURES)
on_clusters = pytest.mark.parametrize(
    ("figure", "world"),
    [found for name, found in FIGURES.items() if name.startswith("cluster-")],
)


def about(claims: list[Claim], part: str) -> list[Claim]:
    return [claim for claim in claims if part in claim.claim]


@every_figure
def test_claims_accept_what_the_paper_says(figure: Figure, world: World) -> None:
    claims = figure.claims(world.rows)
    assert claims
    assert [claim for claim in claims if not claim.holds] == []


@every_figure
def test_every_claim_rejects_data_that_contradict_it(figure: Figure, world: World) -> None:
    for part, change in world.against:
        judged = about(figure.claims(change(world.rows)), part)
        assert judged, f"no claim has {part!r} in it"
        assert any(not claim.holds for claim in judged), f"{part!r} holds in spite of {judged}"


@every_figure
def test_no_claim_holds_whatever_the_data_are(figure: Figure, world: World) -> None:
    """One by one, also where several streams have a claim each."""
    rejected = {
        claim.claim
        for part, change in world.against
        for claim in about(figure.claims(change(world.rows)), part)
        if not claim.holds
    }
    assert {claim.claim for claim in figure.claims(world.rows)} <= rejected


@on_clusters
def test_figures_of_clusters_are_measured_three_times_and_drawn(
    figure: Figure, world: World
) -> None:
    assert figure.draws == 3
    assert figure.choices
    assert figure.plot is not None
    assert figure.plot(world.rows).panels
