"""Fang et al., workload skewness and variance: routing tables for whole keys."""

from __future__ import annotations

from unskew_lab.papers.skewness_and_variance import appendix, compact, examples, hashing, parameters
from unskew_lab.papers.specification import Paper

_NEEDS_CLUSTER = "throughput and latency on a Storm cluster: `--cluster` has them on Spark"

PAPER = Paper(
    name="skewness-and-variance",
    title="Parallel stream processing against workload skewness and variance (LLFD, Mixed)",
    figures=(
        *examples.FIGURES,
        *hashing.FIGURES,
        *parameters.FIGURES[:3],
        *compact.FIGURES,
        *parameters.FIGURES[3:],
        *appendix.FIGURES,
    ),
    slips=(
        "θ is |L − L̄|/L̄ in Sec. II and max/min in Sec. V; ours: the first, of the highest load.",
        "Adjust tests < in the listing and ≤ in the text; ours: ≤.",
        "Algorithm 4 may repeat the same n forever; ours: n strictly grows, up to the whole table.",
        "When no instance accepts a key the listing is silent; ours: the least loaded takes it.",
        "The text of Sec. IV-B would round the second 2 of Fig 6 to 4 and end at −1; ours: the "
        "neighbour that leaves less error, which gives the figure's 0.",
        "Theorems 2 and 4 are false as stated; see the counterexample.",
    ),
    left_out={f"Fig {figure}": _NEEDS_CLUSTER for figure in (13, 14, 15, 16)},
)
