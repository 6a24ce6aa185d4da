"""Write the tables of README and docs that come from the code, or check that they are current.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from docstrings import PARTS, one_line, promise_of, sections
from error_table import error_classes, error_messages
from scheme_pages import scheme_documents, scheme_figures

from evenkeel import rebalancing
from evenkeel.experiments.document import papers_page
from evenkeel.partitioners import ALL

ROOT = Path(__file__).parent.parent
DOCUMENTS = (
    "README.md",
    "docs/errors.md",
    "docs/schemes.md",
    "docs/planners.md",
    "docs/papers.md",
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


GENERATORS: dict[str, Callable[[], str]] = {
    "scheme-table": scheme_table,
    "scheme-figures": scheme_figures,
    "planner-pages": planner_pages,
    "error-classes": error_classes,
    "error-messages": error_messages,
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
