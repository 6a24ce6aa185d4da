"""The tables of docs/reliability.md: what was attacked, how often, and what came of it.

From docs/results/fuzz.json, kills.json and chaos.json, which these commands write:

    rm docs/results/fuzz.json docs/results/kills.json
    make fuzz SEED=1 CASES=2000 SECONDS=600 FUZZ="--json docs/results/fuzz.json --go-on"
    UNSKEW_KILL_REPORT=docs/results/kills.json .venv/bin/pytest -q -m long \
        tests/spark/test_kept_results.py tests/spark/test_kills.py
    make chaos CHAOS="--json docs/results/chaos.json"

The first one is repeated until all cases have been run; `make docs` then writes the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "docs" / "results"

_ATTACKS = {
    "types": "column types, nested ones too",
    "names": "column names",
    "data": "empty, hot, distinct and null keys",
    "settings": "settings of the session",
    "sources": "where the rows come from",
    "follow-ups": "what is done with the result",
}


def attacks() -> str:
    """A line for each attack whose report is kept."""
    heads = ["attack", "tried", "as plain Spark", "refused", "wrong", "untyped", "hung"]
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    fuzzed = _kept("fuzz.json")
    if fuzzed:
        for name, words in _ATTACKS.items():
            lines.append([f"random jobs: {words}", *_fuzzed(fuzzed["attacks"][name])])
        lines.append(["**random jobs, all**", *_fuzzed(fuzzed["all"])])
    for name, counts in _kept("kills.json").items():
        lines.append([f"killed executors: {name}", *_killed(counts)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def chaos() -> str:
    """A line for each figure of the stream that was killed again and again."""
    figures = _kept("chaos.json")
    if not figures:
        return ""
    lines = ["| what | count |", "| --- | ---: |"]
    return "\n".join([*lines, *(f"| {name} | {count:,} |" for name, count in figures.items())])


def _kept(name: str) -> dict[str, Any]:
    """A kept report; empty if there is none."""
    path = RESULTS / name
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _fuzzed(counts: Mapping[str, int]) -> list[str]:
    alike = counts["equal"] + counts["both fail"]
    cells = counts["tried"], alike, *(counts[each] for each in ("refused", *_FAILURES))
    return [f"{cell:,}" for cell in cells]


_FAILURES = ("wrong", "untyped", "hung")


def _killed(counts: Mapping[str, int]) -> list[str]:
    """Spark itself refuses to go on where a checkpoint was lost with its executor."""
    seen = [counts.get(each, 0) for each in ("exact", "refused by Spark", *_FAILURES)]
    return [f"{cell:,}" for cell in (sum(seen), *seen)]
