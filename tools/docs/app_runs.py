"""What the apps gave: kept results of `unskew run APP --compare --json`, as pages show them.

The files are docs/results/run-APP.json for generated data and run-APP-STREAM.json for a stream.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console

from unskew_lab.apps import ALL
from unskew_lab.cli.run_tables import show

RESULTS = Path(__file__).parents[2] / "docs" / "results"

Runs: TypeAlias = list[dict[str, Any]]


def run_overview() -> str:
    """A line for each app and input: hashing, the scheme of the app, and the reference."""
    lines = [
        "| app | input | scheme | max/mean | seconds | reference | right |",
        "|---|---|---|---|---|---:|---|",
    ]
    for app in ALL:
        for stream, runs in _kept(app).items():
            ours = runs[0]
            hashed = next((run for run in runs if run["scheme"] == "kg"), None)
            right = all(run["matches_reference"] for run in runs)
            cells = (
                f"[`{app}`](apps/{app}.md)",
                stream,
                f"`{ours['scheme']}`",
                _both(hashed, ours, "max_over_mean", ".3f"),
                _both(hashed, ours, "seconds", ".1f"),
                f"{ours['reference_seconds']:.1f}",
                "all" if right else "**no**",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _both(hashed: dict[str, Any] | None, ours: dict[str, Any], name: str, form: str) -> str:
    """What hashing gave, if it ran, and what the scheme did."""
    shown = format(ours[name], form)
    return shown if hashed is None else f"{hashed[name]:{form}} → {shown}"


def run_printed(app: str) -> str:
    """The terminal's page of the run on generated data."""
    runs = _kept(app).get("generated")
    if runs is None:
        return "Not kept."
    paper = io.StringIO()
    show(runs, Console(file=paper, width=80, color_system=None))
    lines = [line.rstrip() for line in paper.getvalue().splitlines()]
    return "\n".join(("```text", f"$ unskew run {app} --compare", *lines, "```"))


def run_measured(app: str) -> str:
    """Every scheme on every input that was tried, a table each."""
    return "\n\n".join(_table(stream, runs) for stream, runs in _kept(app).items())


def _table(stream: str, runs: Runs) -> str:
    first = runs[0]
    columns = [(head, of) for head, of in _COLUMNS if of(first)]
    heads = ["scheme", *(head for head, _ in columns), "right"]
    lines = [
        f"*{stream}*: {first['rows']:,} rows; the reference took "
        f"{first['reference_seconds']:.1f} s.",
        "",
        f"| {' | '.join(heads)} |",
        f"|---|{'---:|' * len(columns)}---|",
    ]
    for run in runs:
        right = "yes" if run["matches_reference"] else "**no**"
        cells = (f"`{run['scheme']}`", *(of(run) for _, of in columns), right)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _number(name: str, form: str) -> Any:
    return lambda run: "" if run[name] is None else format(run[name], form)


_COLUMNS = (
    ("seconds", _number("seconds", ".1f")),
    ("max/mean", _number("max_over_mean", ".3f")),
    ("replicas", _number("replicas", ",")),
    ("seconds a batch", _number("latency", ".2f")),
    ("longest", _number("latency_max", ".2f")),
    ("keys moved", _number("migrated_keys", ",")),
    ("bytes moved", _number("migrated_bytes", ",")),
)


def _kept(app: str) -> dict[str, Runs]:
    """The results of an app by the name of their input, generated data first."""
    paths = sorted(RESULTS.glob(f"run-{app}*.json"), key=lambda path: path.stem)
    names = (path.stem.removeprefix(f"run-{app}").removeprefix("-") for path in paths)
    return {
        name.replace("-", " ") or "generated": json.loads(path.read_text())
        for name, path in zip(names, paths, strict=True)
    }
