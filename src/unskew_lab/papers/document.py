"""The page of results: for each paper what holds, what does not and why, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unskew_lab.papers import PAPERS
from unskew_lab.papers.specification import Paper


@dataclass(slots=True)
class ClaimLine:
    """A claim as measured on the generated stream, and how often it held on real ones."""

    figure: str
    claim: str
    found: dict[str, Any] | None = None
    real: list[tuple[str, bool]] = field(default_factory=list)


def papers_page(folder: Path) -> str:
    """A section per paper that has a `<paper>.json` (the `result.json` of a run) in `folder`.

    Where that is of a quick run, `<paper>-full.json` says what other sizes change.
    """
    return _page(folder, PAPERS, "")


def cluster_page(folder: Path, papers: Mapping[str, Paper]) -> str:
    """The same for experiments on a cluster, from `<paper>-cluster.json`."""
    return _page(folder, papers, "-cluster")


def _page(folder: Path, papers: Mapping[str, Paper], kind: str) -> str:
    sections = []
    for paper in papers.values():
        name = f"{paper.name}{kind}"
        found, full = (_read(folder / f"{name}{size}.json") for size in ("", "-full"))
        if found is not None:
            command = f"unskew reproduce {paper.name}" + kind.replace("-", " --")
            sections.append(_section(paper, command, found, full))
    return "\n\n".join(sections)


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text()) if path.exists() else None


def _section(
    paper: Paper, command: str, result: dict[str, Any], full: dict[str, Any] | None
) -> str:
    claims = result["claims"]
    held = sum(row["holds"] for row in claims)
    size = " --quick" if result["quick"] else ""
    real = _real_streams(result)
    parts = [
        f"## {paper.title}",
        f"`{command}{size}`, seed {result['seed']}"
        f"{_where_real(claims, real)}: {held} of {len(claims)} claims hold.",
        "\n".join(_table(_lines(claims, real))),
        "\n".join(_at_full_size(claims, full)),
        "\n".join(_failures(claims)),
        "\n".join(_choices(paper)),
        "\n".join(_left_out(paper)),
        "\n".join(_slips(paper)),
    ]
    return "\n\n".join(part for part in parts if part)


def _real_streams(result: dict[str, Any]) -> set[str]:
    """The real streams that have claims."""
    about = {row["claim"].partition(": ")[0] for row in result["claims"]}
    return about & set(result["streams"])


def _where_real(claims: Sequence[dict[str, Any]], real: set[str]) -> str:
    """Which figures were measured on real streams too."""
    figures = {row["figure"]: None for row in claims if row["claim"].partition(": ")[0] in real}
    if not figures:
        return ""
    return f"; with `--data` also on up to {len(real)} real streams (figures {', '.join(figures)})"


def _lines(claims: Sequence[dict[str, Any]], real: set[str]) -> list[ClaimLine]:
    """One line per claim about the generated stream, with the same claims about real ones."""
    lines: dict[tuple[str, str], ClaimLine] = {}
    for row in claims:
        stream, colon, rest = row["claim"].partition(": ")
        about = rest if colon and stream in real else row["claim"]
        general = about.removeprefix("WP-like: ")
        line = lines.setdefault((row["figure"], general), ClaimLine(row["figure"], about))
        if about is rest:
            line.real.append((stream, row["holds"]))
        else:
            line.claim, line.found = about, row
    return list(lines.values())


def _table(lines: Sequence[ClaimLine]) -> Iterator[str]:
    heads = ["figure", "claim", "paper", "ours", "holds"]
    if any(line.real for line in lines):
        heads.append("on real streams")
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for line in lines:
        found = line.found or {"paper": "", "ours": "", "holds": None}
        verdict = {True: "yes", False: "**no**", None: ""}[found["holds"]]
        held = sum(holds for _, holds in line.real)
        real = f"{held} of {len(line.real)}" if line.real else ""
        if line.real and held < len(line.real):
            real += f", not {', '.join(name for name, holds in line.real if not holds)}"
        cells = (line.figure, line.claim, found["paper"], found["ours"], verdict, real)
        yield f"| {' | '.join(cells[: len(heads)])} |"


def _at_full_size(claims: Sequence[dict[str, Any]], full: dict[str, Any] | None) -> Iterator[str]:
    if full is None:
        return
    held = sum(row["holds"] for row in full["claims"])
    quick = {(row["figure"], row["claim"]): row["holds"] for row in claims}
    other = [
        row for row in full["claims"]
        if quick.get((row["figure"], row["claim"]), row["holds"]) != row["holds"]
    ]  # fmt: skip
    yield (
        f"At full size, without real streams: {held} of {len(full['claims'])} hold. "
        + ("These have another verdict than above:" if other else "No verdict is another.")
    )
    if other:
        yield ""
    for row in other:
        verdict = "holds" if row["holds"] else "does not hold"
        yield f"- {row['figure']}, {row['claim']}: {verdict} ({row['ours']})"


def _failures(claims: Sequence[dict[str, Any]]) -> Iterator[str]:
    reasons = dict.fromkeys(
        f"- {row['figure']}: {row['why']}" for row in claims if not row["holds"] and row["why"]
    )
    if reasons:
        yield "Likely reasons where a claim does not hold:\n"
        yield from reasons


def _choices(paper: Paper) -> Iterator[str]:
    made: dict[str, list[str]] = {}
    for figure in paper.figures:
        if figure.choices:
            made.setdefault(figure.choices, []).append(figure.name)
    if made:
        yield "Chosen where the paper is silent:\n"
        yield from (f"- {', '.join(names)}: {choice.strip()}" for choice, names in made.items())


def _left_out(paper: Paper) -> Iterator[str]:
    if paper.left_out:
        yield "Not reproduced:\n"
        yield from (f"- {item}: {why}" for item, why in paper.left_out.items())


def _slips(paper: Paper) -> Iterator[str]:
    if paper.slips:
        yield "Slips of the paper:\n"
        yield from (f"- {slip}" for slip in paper.slips)
