"""The page of results: for each paper what holds, what does not and why, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unskew_lab.papers import PAPERS
from unskew_lab.papers.specification import Paper

Claims = dict[str, Any]
"""A claim as a run wrote it."""


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
    theirs, ours = _split(result["claims"])
    size = " --quick" if result["quick"] else ""
    source = " --kafka JARS" if result.get("kafka") else ""
    parts = [
        f"## {paper.title}",
        f"`{command}{size}{source}`, seed {result['seed']}{_over(theirs)}: "
        f"{_held(theirs)} of the paper's {len(theirs)} claims hold.",
        "\n".join(_table(theirs)),
        "\n".join(_at_full_size(theirs, full)),
        "\n".join(_failures(result["claims"])),
        "\n".join(_ours(ours)),
        "\n".join(_choices(paper)),
        "\n".join(_left_out(paper)),
        "\n".join(_slips(paper)),
    ]
    return "\n\n".join(part for part in parts if part)


def _split(claims: Sequence[Claims]) -> tuple[list[Claims], list[Claims]]:
    """The paper's claims, and those that we add."""
    added = [row for row in claims if row.get("added")]
    return [row for row in claims if not row.get("added")], added


def _held(claims: Sequence[Claims]) -> int:
    return sum(row["holds"] for row in claims)


def _over(claims: Sequence[Claims]) -> str:
    """Over how many draws, and beside how many real streams."""
    draws = max((row.get("draws", 1) for row in claims), default=1)
    streams = {each["stream"] for row in claims for each in row.get("evidence", ())}
    text = f", {draws} draws of seeds and hash functions" if draws > 1 else ", a single draw"
    return text + (f", beside them {len(streams)} real streams (`--data`)" if streams else "")


def _table(claims: Sequence[Claims]) -> Iterator[str]:
    heads = ["figure", "claim", "paper", "ours", "holds"]
    beside = any(row.get("evidence") for row in claims)
    if beside:
        heads.append("real streams")
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in claims:
        cells = [row["figure"], row["claim"], row["paper"], row["ours"], _verdict(row)]
        yield f"| {' | '.join([*cells, *([_beside(row)] if beside else [])])} |"


def _verdict(row: Claims) -> str:
    """The verdict, in how many draws it holds, and between what the deciding number lies."""
    verdict = "yes" if row["holds"] else "**no**"
    return f"{verdict}{spread_of_draws(row)}"


def spread_of_draws(row: Claims) -> str:
    """In how many draws a claim holds, and the range of the number that decides."""
    if row.get("draws", 1) == 1:
        return ""
    text = f", {row['held']} of {row['draws']} draws"
    if row["least"] is None:
        return text
    return f"{text} ({row['least']:.3g} … {row['most']:.3g})"


def _beside(row: Claims) -> str:
    evidence = row.get("evidence", ())
    if not evidence:
        return ""
    against = [each["stream"] for each in evidence if not each["holds"]]
    text = f"{len(evidence) - len(against)} of {len(evidence)}"
    return f"{text}, not {', '.join(against)}" if against else text


def _at_full_size(claims: Sequence[Claims], full: dict[str, Any] | None) -> Iterator[str]:
    if full is None:
        return
    theirs, _ = _split(full["claims"])
    quick = {(row["figure"], row["claim"]): row["holds"] for row in claims}
    other = [
        row for row in theirs
        if quick.get((row["figure"], row["claim"]), row["holds"]) != row["holds"]
    ]  # fmt: skip
    yield (
        f"At full size, without real streams: {_held(theirs)} of {len(theirs)} hold. "
        + ("These have another verdict than above:" if other else "No verdict is another.")
    )
    if other:
        yield ""
    for row in other:
        verdict = "holds" if row["holds"] else "does not hold"
        yield f"- {row['figure']}, {row['claim']}: {verdict} ({row['ours']})"


def _failures(claims: Sequence[Claims]) -> Iterator[str]:
    """Every reason once, with the figures whose claims do not hold for it."""
    reasons: dict[str, list[str]] = {}
    for row in claims:
        if row["why"] and not row["holds"] and row["figure"] not in reasons.get(row["why"], []):
            reasons.setdefault(row["why"], []).append(row["figure"])
    if reasons:
        yield "Likely reasons where a claim does not hold:\n"
        yield from (f"- {', '.join(figures)}: {why}" for why, figures in reasons.items())


def _ours(claims: Sequence[Claims]) -> Iterator[str]:
    if claims:
        yield f"What we add to the paper, {_held(claims)} of {len(claims)} hold:\n"
        yield from _table(claims)


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
