"""Gedik, partitioning functions for stateful data parallelism: a ring, and a table over it."""

from __future__ import annotations

from unskew_lab.papers.partitioning_functions import (
    balance,
    construction_time,
    size,
    threshold_and_workers,
    toy_example,
    utility_and_domain,
)
from unskew_lab.papers.specification import Paper

PAPER = Paper(
    name="partitioning-functions",
    title="Partitioning functions for stateful data parallelism in stream processing",
    figures=(
        *toy_example.FIGURES,
        *balance.FIGURES,
        *threshold_and_workers.FIGURES,
        *utility_and_domain.FIGURES,
        *size.FIGURES,
        *construction_time.FIGURES,
    ),
    slips=(
        "Equation 3 multiplies the computation by f once more, against the text and Fig 1; ours: "
        "as in the text.",
        "Fig 1 prints a processing load of 24 for items of 4 and 3, whose squares add up to 25.",
        "Algorithm 4 breaks off at the first readjustment that does not help and starts from a "
        "utility of 0; ours: goes on to the next, and starts from the current utility.",
    ),
)
