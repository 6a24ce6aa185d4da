"""The papers' experiments on clusters, on a local standalone Spark with emulated service times."""

from __future__ import annotations

from pathlib import Path

from unskew_lab.cluster import (
    consistent_grouping,
    partial_key_grouping,
    proactive,
    skewness_and_variance,
)
from unskew_lab.cluster.machines import machines
from unskew_lab.papers.running import FigureResult, Progress, reproduce
from unskew_lab.papers.specification import Paper, Setting

_MODULES = (consistent_grouping, partial_key_grouping, skewness_and_variance, proactive)

PAPERS: dict[str, Paper] = {module.PAPER.name: module.PAPER for module in _MODULES}
"""Every paper with experiments on a cluster."""


def reproduce_on_cluster(
    paper: Paper,
    setting: Setting,
    out: Path,
    figure: str | None = None,
    progress: Progress = lambda figure, done, cells: None,
) -> list[FigureResult]:
    """As `reproduce`, one cell at a time on a cluster that is up for as long as it takes."""
    paper.pick(figure)
    with machines(setting.kafka):
        return reproduce(paper, setting, out, figure, jobs=1, progress=progress, keep_rows=True)
