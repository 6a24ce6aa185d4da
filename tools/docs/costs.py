"""The table of the kept benchmark of maps by cost: a line for each job instead of each figure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unskew_lab.benchmarks.cost_figures import OFF, OURS, REMEMBERED

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "bench-costs.json"
HEAD = (
    "| rows | slots, work of each | the oracle | best plain way | by cost | times as quick "
    "| wanted | of the bound |"
)


@dataclass(slots=True)
class Job:
    """The figures of our ways in one job, by way."""

    case: str
    slots: str
    gains: dict[str, float] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    oracle: float = 0.0
    seconds: float = 0.0
    """With costs that are given."""
    plain: str = ""
    wanted: str = ""

    def add(self, way: str, row: dict[str, Any]) -> None:
        """A figure of one of our ways."""
        if way == OURS:
            self.seconds = row["seconds"]
        against = row["against"]
        if against == "the oracle":
            self.oracle = row["seconds"] / row["ratio"]
        elif against.startswith("the best plain way, "):
            self.gains[way] = 1 / row["ratio"]
            name = against.removeprefix("the best plain way, ")
            self.plain = f"{name}, {row['seconds'] / row['ratio']:.1f} s"
            if way == OURS:
                self.wanted = f"≥ {1 / row['target']:.2f}, {'met' if row['met'] else 'missed'}"
        else:
            self.bounds[way] = row["ratio"]

    def line(self) -> str:
        """Its line in the table."""
        ways = (OURS, REMEMBERED, OFF)
        gains = ", ".join(f"{self.gains[way]:.2f}" for way in ways if way in self.gains)
        bounds = ", ".join(f"{self.bounds[way]:.2f}" for way in ways if way in self.bounds)
        seconds = f"{self.seconds:.1f} s"
        parts = [self.case, self.slots, f"{self.oracle:.1f} s", self.plain, seconds]
        return "| " + " | ".join([*parts, gains, self.wanted, bounds]) + " |"


def costs_table() -> str:
    """Of what was kept; nothing if nothing was."""
    if not RESULTS.exists():
        return ""
    lines = [job.line() for job in jobs_of(json.loads(RESULTS.read_text()))]
    return "\n".join([HEAD, "|---" * HEAD.count(" | ") + "|---|", *lines])


def jobs_of(rows: Iterable[dict[str, Any]]) -> Iterable[Job]:
    """The jobs in the order in which they were run."""
    found: dict[str, Job] = {}
    for row in rows:
        what, way = row["name"].rsplit(": ", 1)
        parts = re.fullmatch(r"(.*), (\d+) slots, ([\d.]+) s, .*", what)
        if parts is None or way not in (OURS, REMEMBERED, OFF):
            continue
        case, slots, work = parts.groups()
        job = found.setdefault(f"{case} {slots} {work}", Job(case, f"{slots}, {work} s"))
        job.add(way, row)
    return found.values()
