"""Draw the pictures of docs/batch.md with unskew's own plots: `python tools/docs/pictures.py`."""

from __future__ import annotations

import dataclasses
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from unskew import cli
from unskew.partitioners import KeyGrouping, Partitioner, PlannedSplit
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import ZipfStream

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WORKERS, KEYS, ROWS, SKEW = 16, 2_000, 120_000, 1.2


def main() -> None:
    """Every scheme on skewed clicks, and the workers' rows hashed and planned."""
    words = f"unskew compare --zipf {SKEW} --keys {KEYS} --messages {ROWS} --workers {WORKERS}"
    sys.argv = [*words.split(), "--plot", str(IMAGES / "compared.png")]
    with suppress(SystemExit):
        cli.main()
    stream = ZipfStream(SKEW, KEYS, ROWS)
    counted = KeyCounts.of(stream.chunks())
    planned = dataclasses.replace(PlannedSplit(WORKERS), counts=counted)
    _draw({"hashed": _loads(stream, KeyGrouping(WORKERS)), "planned": _loads(stream, planned)})


def _loads(stream: ZipfStream, partitioner: Partitioner) -> np.ndarray:
    router = partitioner.router()
    workers = np.concatenate([router.route(keys) for keys in stream.chunks()])
    return np.bincount(workers, minlength=WORKERS)


def _draw(found: dict[str, np.ndarray]) -> None:
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(found), sharey=True)
    for axis, (title, loads) in zip(axes, found.items(), strict=True):
        colours = np.where(loads > 1.5 * loads.mean(), "#c0392b", "#5b8db8")
        axis.bar(range(WORKERS), loads, color=colours)
        axis.axhline(loads.mean(), color="black", linewidth=0.8)
        axis.set(title=f"{title}: max/mean {loads.max() / loads.mean():.2f}", xlabel="worker")
        axis.set_xticks(range(0, WORKERS, 3))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("rows")
    figure.savefig(IMAGES / "before-after.png", dpi=90)


if __name__ == "__main__":
    main()
