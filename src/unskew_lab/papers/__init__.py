"""The papers, reproduced figure by figure beside their own numbers; one paper, one module."""

from __future__ import annotations

from unskew_lab.papers import (
    consistent_grouping,
    partial_key_grouping,
    partitioning_functions,
    proactive,
    skewness_and_variance,
)
from unskew_lab.papers.specification import Paper

_MODULES = (
    consistent_grouping,
    partial_key_grouping,
    skewness_and_variance,
    proactive,
    partitioning_functions,
)

PAPERS: dict[str, Paper] = {module.PAPER.name: module.PAPER for module in _MODULES}
"""Every reproduced paper by its name on the command line."""
