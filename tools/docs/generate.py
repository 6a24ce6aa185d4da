"""Write the tables of README and docs that come from the code, or check that they are current.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from app_runs import run_measured, run_overview, run_printed
from costs import RESULTS as COSTS
from costs import costs_table
from docstrings import PARTS, one_line, promise_of, sections
from error_table import error_classes, error_messages
from regret import RESULTS as REGRET
from regret import regret_tables
from reliability import attacks, chaos
from scheme_pages import scheme_documents, scheme_figures
from scheme_settings import settings_table
from soak import soak_page
from tree import source_tree

from unskew import rebalancing
from unskew.partitioners import ALL
from unskew_lab.apps import ALL as APPS
from unskew_lab.cluster import PAPERS as ON_CLUSTER
from unskew_lab.papers.document import cluster_page, papers_page

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "docs/apps.md",
    *(f"docs/apps/{name}.md" for name in APPS),
    "docs/benchmarks.md",
    "docs/cluster.md",
    "docs/design.md",
    "docs/errors.md",
    "docs/schemes.md",
    "docs/planners.md",
    "docs/papers.md",
    "docs/reliability.md",
)


def scheme_table() -> str:
    """One line per scheme: name, promise and summary."""
    lines = ["| scheme | keeps | what it does |", "|---|---|---|"]
    for name, scheme in ALL.items():
        what = sections(scheme)["what"].split("\n\n")[0]
        lines.append(f"| `{name}` | {promise_of(scheme)} | {one_line(what)} |")
    return "\n".join(lines)


def planner_pages() -> str:
    """One section per planner, as for schemes."""
    pages = []
    for name, planner in rebalancing.ALL.items():
        parts = sections(planner)
        what = "\n\n".join(one_line(paragraph) for paragraph in parts["what"].split("\n\n"))
        facts = "\n".join(f"- **{part}**: {one_line(parts[part])}" for part in PARTS)
        pages.append(f"## {planner.__name__} (`{name}`)\n\n{what}\n\n{facts}")
    return "\n\n".join(pages)


def benchmark_tables() -> str:
    """What the benchmarks gave when they were last run, each from its kept JSON."""
    parts = []
    for path in sorted((ROOT / "docs" / "results").glob("bench-*.json")):
        if path in (COSTS, *REGRET.values()):
            continue  # They have tables of their own.
        lines = ["| what | seconds | ratio | against | target |", "|---|---|---|---|---|"]
        for row in json.loads(path.read_text()):
            target = ""
            if row["target"] is not None:
                target = f"≤ {row['target']:.2f}, {'met' if row['met'] else 'missed'}"
            seconds = f"{row['seconds']:.2f}" if row["seconds"] else ""
            lines.append(
                f"| {row['name']} | {seconds} | {row['ratio']:.2f} | {row['against']} | {target} |"
            )
        parts.append(f"### `{path.stem.removeprefix('bench-')}`\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


GENERATORS: dict[str, Callable[[], str]] = {
    "attacks": attacks,
    "benchmark-tables": benchmark_tables,
    "chaos": chaos,
    "costs": costs_table,
    "scheme-table": scheme_table,
    "scheme-figures": scheme_figures,
    "scheme-settings": settings_table,
    "planner-pages": planner_pages,
    "regret": regret_tables,
    "run-overview": run_overview,
    "soak": soak_page,
    **{f"printed-{name}": partial(run_printed, name) for name in APPS},
    **{f"measured-{name}": partial(run_measured, name) for name in APPS},
    "error-classes": error_classes,
    "error-messages": error_messages,
    "cluster": lambda: cluster_page(ROOT / "docs" / "results", ON_CLUSTER),
    "source-tree": source_tree,
    "papers": lambda: papers_page(ROOT / "docs" / "results"),
}


def generated(text: str) -> str:
    """The document with every generated part written anew."""

    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}\n{GENERATORS[match[2]]()}\n<!-- end -->"

    return re.sub(r"(<!-- generated: ([\w-]+) -->).*?<!-- end -->", fill, text, flags=re.DOTALL)


def main() -> None:
    """With --check, complain about documents that are not current; else write them."""
    wanted = {ROOT / name: generated((ROOT / name).read_text()) for name in DOCUMENTS}
    for name, text in scheme_documents().items():
        wanted[ROOT / "docs" / "schemes" / f"{name}.md"] = text
    stale = []
    for path, current in wanted.items():
        if not path.exists() or current != path.read_text():
            stale.append(str(path.relative_to(ROOT)))
            if "--check" not in sys.argv:
                path.parent.mkdir(exist_ok=True)
                path.write_text(current)
    if stale and "--check" in sys.argv:
        sys.exit(f"{', '.join(stale)}: generated parts are old; run `make docs`")


if __name__ == "__main__":
    main()
