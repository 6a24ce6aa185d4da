"""A diagnosis as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from unskew.display import printable

if TYPE_CHECKING:
    from unskew._spark.diagnosis.keys import Diagnosis


def draw(diagnosis: Diagnosis) -> Figure:
    """The shares of the heaviest keys, and the balance that each scheme would reach."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    keys, schemes = figure.subplots(1, 2)
    names = [printable(key.key, 30) for key in diagnosis.top]
    keys.barh(range(len(names)), [100 * key.share for key in diagnosis.top], color="#3b6fb6")
    # Keys are data: a dollar sign must not start a formula.
    keys.set_yticks(range(len(names)), names, parse_math=False)
    keys.invert_yaxis()
    keys.set_xlabel("% of rows")
    keys.set_title("heaviest keys")
    found = diagnosis.schemes
    schemes.barh(
        [each.scheme for each in found], [each.max_over_mean for each in found], color="#6b9e52"
    )
    schemes.invert_yaxis()
    schemes.axvline(1.0, color="#1f2430", linewidth=1)
    schemes.set_xlabel(f"max/mean on {diagnosis.workers} workers")
    schemes.set_title("forecast")
    return figure
