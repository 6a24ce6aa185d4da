"""A picture of every scheme on one stream: balance and replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unskew.partitioners import Need

COLOURS = {Need.WHOLE_KEY: "#4c78a8", Need.MERGEABLE: "#2a9d8f", Need.ANY_ROW: "#9a9a9a"}
LABELS = {
    Need.WHOLE_KEY: "keeps keys whole",
    Need.MERGEABLE: "splits keys, parts merge",
    Need.ANY_ROW: "ignores keys",
}


def draw_schemes(rows: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Two bars per scheme. A row has scheme, need, max_over_mean and replication."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    names = [row["scheme"] for row in rows][::-1]
    colours = [COLOURS[row["need"]] for row in rows][::-1]
    figure, panels = plt.subplots(1, 2, figsize=(10, 0.34 * len(rows) + 1.7), sharey=True)
    for panel, field, label in (
        (panels[0], "max_over_mean", "busiest worker / mean load  (1 is perfect)"),
        (panels[1], "replication", "workers that hold a key, on average"),
    ):
        values = [row[field] for row in rows][::-1]
        panel.barh(names, values, color=colours, height=0.7)
        panel.set_xlim(0, max(values) * 1.15)
        panel.set_xlabel(label, fontsize=9)
        panel.axvline(1, color="black", linewidth=0.8, linestyle=":")
        for place, value in enumerate(values):
            text = f"{value:.3f}" if value < 1.1 else f"{value:.2f}"
            panel.text(value + max(values) * 0.015, place, text, va="center", fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=9)
    shown = [need for need in Need if any(row["need"] == need for row in rows)]
    figure.legend(
        [Patch(color=COLOURS[need]) for need in shown],
        [LABELS[need] for need in shown],
        ncols=3,
        loc="lower center",
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(title, fontsize=11)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(path, dpi=150)
    plt.close(figure)
