"""Tables of the kept regret of every way; `python tools/docs/regret.py` draws its picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from unskew_lab.benchmarks.regret.figures import AUTO, MEMORY, PLAIN, regret

DOCS = Path(__file__).parents[2] / "docs"
RESULTS = {
    "regret": DOCS / "results" / "bench-regret.json",
    "regret --scale 4": DOCS / "results" / "bench-regret-4x.json",
    "regret --data, real streams": DOCS / "results" / "bench-regret-streams.json",
}
"""What was kept, by the benchmark that measured it."""
OURS = {"kg", "routing-table", "planned-split", "in-place", "copy"}
HIGHEST = 10.0
"""Where the picture ends: ways that took longer stand at its edge."""

Rows = Sequence[dict[str, Any]]


def regret_tables() -> str:
    """A picture, the summary and a line for each job, of each run that was kept."""
    return "\n\n".join(_tables(name, path) for name, path in RESULTS.items() if path.exists())


def _tables(name: str, path: Path) -> str:
    rows = json.loads(path.read_text())
    jobs = [row for row in rows if "ways" in row]
    shown = f"![Regret of each way over all jobs](images/{_picture(path).name})"
    summary = [row for row in rows if "ways" not in row]
    parts = [f"### `{name}`", shown, _summary_table(summary), _job_table(jobs), _left_out(jobs)]
    return "\n\n".join(parts).strip()


def _picture(results: Path) -> Path:
    return DOCS / "images" / f"{results.stem.removeprefix('bench-')}.png"


def _summary_table(rows: Rows) -> str:
    lines = ["| what | ratio | against | target |", "|---|---|---|---|"]
    for row in rows:
        target = ""
        if row["target"] is not None:
            target = f"≤ {row['target']:.2f}, {'met' if row['met'] else 'missed'}"
        lines.append(f"| {row['name']} | {row['ratio']:.2f} | {row['against']} | {target} |")
    return "\n".join(lines)


def _job_table(jobs: Rows) -> str:
    lines = [
        "| job | plain | best way | auto | with memory | regret | with memory | gain |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for job in jobs:
        ways, best = job["ways"], job["best"]
        lines.append(
            f"| {job['name']} | {ways[PLAIN]:.2f} s | {best}, {ways[best]:.2f} s "
            f"| {ways[AUTO]:.2f} s | {_figure(ways.get(MEMORY), ' s')} | {job['ratio']:.2f} "
            f"| {_figure(job['memory_regret'])} | {job['gain']:.2f} |"
        )
    return "\n".join(lines)


def _left_out(jobs: Rows) -> str:
    ways = sorted({way for job in jobs for way in job["left_out"]})
    return f"Not offered when this was measured: {', '.join(ways)}." if ways else ""


def _figure(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:.2f}{unit}"


def draw(rows: Rows, path: Path) -> None:
    """A strip for each way, a dot for each job: its seconds over those of the job's best way."""
    over_best: dict[str, list[float]] = {}
    for job in rows:
        ways = job.get("ways", {})
        for way in ways:
            over_best.setdefault(way, []).append(regret(ways, way))
    order = sorted(over_best, key=lambda way: (-median(over_best[way]), way))
    figure = Figure(figsize=(8.5, 0.36 * len(order) + 1.3), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for place, way in enumerate(order):
        _strip(axis, place, over_best[way], _colour(way))
    axis.set_yticks(range(len(order)), order)
    for label, way in zip(axis.get_yticklabels(), order, strict=True):
        label.set(color=_colour(way), fontweight="bold" if way.startswith(AUTO) else "normal")
    jobs = sum("ways" in row for row in rows)
    _frame(axis, len(order), f"{jobs} jobs: the time of each way over that of the best")
    figure.savefig(path, dpi=110)


def _strip(axis: Axes, place: int, values: list[float], colour: str) -> None:
    shown = [min(value, HIGHEST) for value in values]
    axis.plot([min(shown), max(shown)], [place, place], color=colour, alpha=0.25, linewidth=5)
    axis.scatter(shown, [place] * len(shown), s=22, color=colour, alpha=0.55, linewidth=0)
    middle = min(median(values), HIGHEST)
    axis.plot([middle, middle], [place - 0.32, place + 0.32], color=colour, linewidth=2.5)
    said = f"{median(values):.2f}   {max(values):.2f}   {len(values)}"
    for column, text in zip((1.06, 1.14, 1.20), said.split(), strict=True):
        axis.text(
            *(column, place, text),
            transform=axis.get_yaxis_transform(),
            va="center",
            ha="right",
            color=colour,
        )


def _frame(axis: Axes, ways: int, title: str) -> None:
    axis.set_xscale("log")
    ticks = [1, 1.25, 1.5, 2, 3, 5, HIGHEST]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks[:-1]] + [f"≥ {HIGHEST:g}"])
    axis.set_xticks([], minor=True)
    axis.set(xlim=(0.97, HIGHEST * 1.06), ylim=(-0.7, ways - 0.3))
    axis.grid(axis="x", color="#e5e5e5", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel(
        "red: auto · blue: our ways by name · grey: plain Spark and by hand", color="#555555"
    )
    for column, text in zip((1.06, 1.14, 1.20), ("median", "worst", "jobs"), strict=True):
        axis.text(
            *(column, ways - 0.25, text),
            transform=axis.get_yaxis_transform(),
            ha="right",
            fontsize=8,
            color="#555555",
        )


def _colour(way: str) -> str:
    if way.startswith(AUTO):
        return "#c0392b"
    return "#2471a3" if way in OURS else "#666666"


if __name__ == "__main__":
    for results in RESULTS.values():
        if results.exists():
            draw(json.loads(results.read_text()), _picture(results))
