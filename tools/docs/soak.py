"""What a long run of a stream with state took; `python tools/docs/soak.py` draws its picture."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = DOCS / "results" / "soak.json"
PICTURE = DOCS / "images" / "soak.png"
WARM = 10
"""Batches until everything is compiled and started."""
PANELS = (
    ("seconds", "seconds of a batch"),
    ("files", "files of the state"),
    ("megabytes", "MB of the driver"),
)


def soak_page() -> str:
    """The picture, and the first and last tenth of the run; nothing before there are results."""
    if not RESULTS.exists():
        return ""
    kept = json.loads(RESULTS.read_text())
    batches = kept["batches"][WARM:]
    part = max(1, len(batches) // 10)
    lines = ["| median of | first tenth | last tenth |", "|---|---|---|"]
    for name, said in PANELS:
        first, last = (
            median(batch[name] for batch in some) for some in (batches[:part], batches[-part:])
        )
        lines.append(f"| {said} | {_number(first)} | {_number(last)} |")
    moved = sum(batch["moved"] for batch in kept["batches"])
    said = (
        f"{len(kept['batches']):,} batches, {moved:,} keys moved; "
        f"keys with a wrong count at the end: {kept['wrong']}."
    )
    return "\n\n".join(
        [said, "\n".join(lines), f"![Each batch of a long run](images/{PICTURE.name})"]
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def draw(batches: list[dict[str, Any]], path: Path) -> None:
    """A dot for each batch, one panel for each measure."""
    figure = Figure(figsize=(8.5, 6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(PANELS), sharex=True)
    numbers = range(WARM, len(batches))
    for axis, (name, said) in zip(axes, PANELS, strict=True):
        values = [batch[name] for batch in batches[WARM:]]
        axis.scatter(numbers, values, s=5, color="#2471a3", alpha=0.5, linewidth=0)
        axis.set(ylim=(0, 1.1 * max(values)), xlim=(0, len(batches)))
        axis.set_title(said, loc="left", fontsize=10)
        axis.grid(axis="y", color="#e5e5e5", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel("batch")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(json.loads(RESULTS.read_text())["batches"], PICTURE)
