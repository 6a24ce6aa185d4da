"""Nasir et al., Consistent Grouping: balance without time, then machines with queues."""

from __future__ import annotations

from unskew_lab.papers.consistent_grouping import changes, machines, skew, workers
from unskew_lab.papers.specification import Paper

PAPER = Paper(
    name="consistent-grouping",
    title="Load balancing for skewed streams on heterogeneous clusters (Consistent Grouping)",
    figures=(*skew.FIGURES, *workers.FIGURES, *machines.FIGURES, *changes.FIGURES),
    left_out={
        "Fig 12": "throughput and latency on a Storm cluster: `--cluster` has them on Spark",
        "Fig 13": "executors limited to 30 % CPU: `--cluster` has them on Spark",
    },
    slips=(
        "Sec. V-A defines busy as load ≥ θ_b·c with θ_b > 1, Sec. VI-A uses 0.85·c; ours: 0.85.",
        "Sec. IV-D says a source moves a virtual worker when asked to increase the load; it is "
        "the idle worker's signal, paired with a busy one.",
        "Sec. VI-B gives 3.44 as the gain in throughput, the abstract as the gain in latency.",
    ),
)
