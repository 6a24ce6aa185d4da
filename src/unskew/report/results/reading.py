"""The result files of a folder, each recognised by its shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unskew.errors import InputError

MOST_BYTES = 64 << 20
"""No result of unskew is larger."""

SHAPES: dict[str, tuple[type, set[str]]] = {
    "diagnose": (dict, {"rows", "keys", "top", "schemes", "recommendation"}),
    "compare": (dict, {"need", "schemes", "recommendation"}),
    "demo": (dict, {"rows", "slots", "ideal", "runs"}),
    "reproduce": (dict, {"paper", "claims"}),
    "claims": (list, {"figure", "claim", "paper", "ours", "holds"}),
    "bench": (list, {"name", "seconds", "ratio", "against"}),
    "run": (list, {"app", "scheme", "seconds", "matches_reference"}),
    "simulate": (dict, {"scheme", "workers", "messages", "max_over_mean"}),
    "rebalance": (dict, {"algorithm", "workers", "max_over_mean", "migrated_keys"}),
}
"""Fields of each command's JSON; the first match decides. The page has them in this order."""


@dataclass(frozen=True, slots=True)
class Result:
    """A file with its kind and content, or with the reason why it was not recognised."""

    path: Path
    name: str
    kind: str | None
    content: Any
    reason: str = ""


def read_results(folder: Path) -> list[Result]:
    """Every JSON file below a folder, by kind and name; those not recognised at the end."""
    if not folder.is_dir():
        raise InputError(f"folder not found: {folder}; give the one that holds the results")
    paths = [path for path in sorted(folder.rglob("*.json")) if not _is_part(path, folder)]
    if not paths:
        raise InputError(
            f"no JSON file in {folder}; write some there: unskew compare ... --json > "
            f"{folder}/compare.json"
        )
    order = {kind: place for place, kind in enumerate(SHAPES)}
    found = [_read(path, folder) for path in paths]
    return sorted(found, key=lambda each: order.get(each.kind or "", len(order)))


def kind_of(document: Any) -> str | None:
    """Which command wrote it.

    >>> kind_of({"need": "mergeable", "schemes": [], "recommendation": {}})
    'compare'
    >>> kind_of(["anything", "else"]) is None
    True
    """
    for kind, (form, fields) in SHAPES.items():
        if not isinstance(document, form):
            continue
        rows: list[Any] = document if isinstance(document, list) else [document]
        if rows and all(isinstance(row, dict) and fields <= row.keys() for row in rows):
            return kind
    return None


def _is_part(path: Path, folder: Path) -> bool:
    """The cells of a figure, and claims that a result beside them repeats."""
    inside = path.relative_to(folder).parts[:-1]
    repeated = path.name.startswith("claims") and path.with_name("result.json").exists()
    return "cells" in inside or repeated or any(part.startswith(".") for part in inside)


def _read(path: Path, folder: Path) -> Result:
    name = str(path.relative_to(folder))
    try:
        if path.stat().st_size > MOST_BYTES:
            return Result(path, name, None, None, f"larger than {MOST_BYTES >> 20} MiB")
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return Result(path, name, None, None, "not JSON")
    kind = kind_of(document)
    reason = "" if kind else "not the JSON of one of unskew's commands"
    return Result(path, name, kind, document, reason)
