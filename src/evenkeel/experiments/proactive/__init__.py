"""Rivetti et al., Proactive Online Shuffle Grouping: completion times when rows differ in cost."""

from __future__ import annotations

from evenkeel.experiments.proactive import bounds, sweeps, timeline
from evenkeel.experiments.specification import Paper

PAPER = Paper(
    name="posg",
    title="Proactive Online Shuffle Grouping (POSG)",
    figures=(bounds.BOUNDS, *sweeps.FIGURES, timeline.FIG10),
    left_out={
        "Fig 11": "the time series on a Storm cluster; figure 10 is the same in the simulator",
        "Fig 12": "tweets on a Storm cluster; `evenkeel bench posg` has its costs on Spark",
    },
    slips=(
        "Sec. V-A: 54 columns for ε = 0.05, Sec. IV-B: 55; ours: ⌈e/ε⌉ = 55.",
        "Listing III.1 loops over the columns where it means the rows.",
        "Sec. V-B: one column for ε = 1 and 2,781 for 0.001; ⌈e/ε⌉ is 3 and 2,719.",
        "Equation 1 divides 0 by 0 in empty cells; ours: a cell that was empty in the snapshot is "
        "left out.",
        "Listing III.2 divides by 0 for content never seen; ours: it costs the worker's mean.",
    ),
)
