"""The papers, reproduced figure by figure beside their own numbers; one paper, one module."""

from __future__ import annotations

from evenkeel.experiments import consistent_grouping
from evenkeel.experiments.specification import Paper

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (consistent_grouping.PAPER,)}
"""Every reproduced paper by its name on the command line."""
