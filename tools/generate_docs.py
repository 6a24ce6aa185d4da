"""Write the tables of README and docs that come from the code, or check that they are current.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenkeel import rebalancing
from evenkeel.experiments.document import papers_page
from evenkeel.partitioners import ALL, Need

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "docs/schemes.md", "docs/planners.md", "docs/papers.md")


def scheme_table() -> str:
    """One line per scheme: name, promise and summary."""
    lines = ["| scheme | keeps | what it does |", "|---|---|---|"]
    for name, scheme in ALL.items():
        what = _sections(scheme)["what"].split("\n\n")[0]
        lines.append(f"| `{name}` | {_promise(scheme)} | {_one_line(what)} |")
    return "\n".join(lines)


def scheme_pages() -> str:
    """One section per scheme: what it does, when to take it, what it costs, where it is from."""
    pages = []
    for name, scheme in ALL.items():
        parts = _sections(scheme)
        what = "\n\n".join(_one_line(paragraph) for paragraph in parts["what"].split("\n\n"))
        facts = "\n".join(f"- **{part}**: {_one_line(parts[part])}" for part in _PARTS)
        pages.append(
            f"## {scheme.__name__} (`{name}`)\n\n{what}\n\n- **Keeps**: {_promise(scheme)}\n{facts}"
        )
    return "\n\n".join(pages)


def planner_pages() -> str:
    """One section per planner, as for schemes."""
    pages = []
    for name, planner in rebalancing.ALL.items():
        parts = _sections(planner)
        what = "\n\n".join(_one_line(paragraph) for paragraph in parts["what"].split("\n\n"))
        facts = "\n".join(f"- **{part}**: {_one_line(parts[part])}" for part in _PARTS)
        pages.append(f"## {planner.__name__} (`{name}`)\n\n{what}\n\n{facts}")
    return "\n\n".join(pages)


GENERATORS: dict[str, Callable[[], str]] = {
    "scheme-table": scheme_table,
    "scheme-pages": scheme_pages,
    "planner-pages": planner_pages,
    "papers": lambda: papers_page(ROOT / "docs" / "results"),
}
_PARTS = ("When", "Cost", "Paper")
_PROMISES = {
    Need.WHOLE_KEY: "whole keys",
    Need.MERGEABLE: "mergeable parts",
    Need.ANY_ROW: "rows only",
}


def _promise(scheme: type[Any]) -> str:
    promise = getattr(scheme, "need", None)
    if not isinstance(promise, Need):  # it depends on the settings: a plain split is mergeable
        promise = Need.MERGEABLE
    return _PROMISES[promise]


def _sections(scheme: type[Any]) -> dict[str, str]:
    text = (inspect.getdoc(scheme) or "").split(">>>")[0].strip()
    pieces = re.split(r"^(When|Cost|Paper): ", text, flags=re.MULTILINE)
    found = {"what": pieces[0].strip(), **dict(zip(pieces[1::2], pieces[2::2], strict=True))}
    missing = [part for part in _PARTS if part not in found]
    if missing:
        raise SystemExit(f"{scheme.__name__} has no {missing} in its docstring")
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


def generated(text: str) -> str:
    """The document with every generated part written anew."""

    def fill(match: re.Match[str]) -> str:
        return f"{match[1]}\n{GENERATORS[match[2]]()}\n<!-- end -->"

    return re.sub(r"(<!-- generated: ([\w-]+) -->).*?<!-- end -->", fill, text, flags=re.DOTALL)


def main() -> None:
    """With --check, complain about documents that are not current; else write them."""
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        current = generated(path.read_text())
        if current != path.read_text():
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(current)
    if stale and "--check" in sys.argv:
        sys.exit(f"{', '.join(stale)}: generated parts are old; run `make docs`")


if __name__ == "__main__":
    main()
