"""Nasir et al., Partial Key Grouping: tables, local estimation and limits of two choices."""

from __future__ import annotations

from unskew_lab.papers.partial_key_grouping import (
    agreement,
    bounds,
    estimation,
    limits,
    sources,
    tables,
)
from unskew_lab.papers.specification import Paper

PAPER = Paper(
    name="partial-key-grouping",
    title="Partial Key Grouping: load-balanced partitioning of distributed streams",
    figures=(
        *tables.FIGURES,
        *bounds.FIGURES,
        *estimation.FIGURES,
        *agreement.FIGURES,
        *sources.FIGURES,
        *limits.FIGURES,
    ),
    left_out={
        "Fig 10": "throughput on a Storm cluster by delay and memory: `--cluster` has it on Spark",
        "Table 3": "latency on a Storm cluster: `--cluster` has it on Spark",
        "Table 1, WP, TW, CT, LJ and SL₁": "what stands in for them in other figures is made with "
        "the table's p₁ (CT: in each week), so a claim of it could not fail; SL₁ has no stand-in",
        "Table 2, WP and TW": "the data sets are not public: streams with their p₁ stand in",
    },
    slips=(
        "Sec. 5 writes 0.156·m for 0.156·m/n.",
        "The graph rows of Table 1 seem to divide the top degree by the number of keys "
        "(Slashdot0902: 2,553/82,168 = 3.11 %; by messages it is 0.27 %).",
        "Table 2 is called an average over time; its figures fit the end of the stream "
        "(p₁/2 − 1/n for PKG at 50 and 100 workers), so ours are taken there.",
    ),
)
