"""All results of a folder as one self-contained page, without scripts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from unskew import __version__
from unskew.display import html_document, printable
from unskew.report.results.markup import Html, code, paragraph, table, text
from unskew.report.results.reading import Result
from unskew.report.results.sections import SECTIONS, Section

_STYLE = """
header{max-width:72rem;margin:0 auto;padding:1.6rem 1.25rem 1rem}
nav ol{margin:0;padding:0;list-style:none}
nav li{padding:.35rem 0;border-bottom:1px solid var(--line)}
nav li:last-child{border-bottom:0}
nav a{color:var(--accent);font-weight:600;text-decoration:none}
nav a:hover{text-decoration:underline}nav a+.soft{margin-left:.5rem}
.kind{display:inline-block;min-width:6.2rem;color:var(--soft);font-size:.85rem}
.outcome{font-size:1.05rem;margin:0 0 .7rem}
.share{display:block;height:.7rem;border-radius:.15rem;background:var(--accent);margin-top:.4rem;
min-width:2px}
.share.ours{background:var(--good)}.share.other{background:var(--soft);opacity:.6}
.share.goal{background:none;border:1px dashed var(--soft);border-right:3px solid var(--ink);
border-radius:0}
td:has(.share){width:32%;min-width:7rem}
img{max-width:100%;background:#fff;border-radius:.4rem}
details{margin-top:.6rem}summary{cursor:pointer}
@media print{main{max-width:none;padding:0}header{padding:0 0 .6rem}details{display:block}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def result_page(folder: Path, results: Sequence[Result]) -> tuple[str, list[Result]]:
    """The page, and the files that were not recognised."""
    made = [(result, _section(result)) for result in results]
    sections = [(result, section) for result, section in made if section is not None]
    others = [_refused(result) for result, section in made if section is None]
    name = printable(str(folder))
    style = (files("unskew.report") / "page.css").read_text(encoding="utf-8")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<style>{style}{_STYLE}</style>"
    )
    parts = [
        f'<header><h1>Results in <span class="key">{text(name)}</span></h1>',
        paragraph(f"{len(sections)} results, collected {time.strftime('%Y-%m-%d %H:%M %Z')} by "
                  f"unskew {__version__}.", name="soft"),
        "</header><main>",
        _contents(sections),
        *(_card(number, result, section) for number, (result, section) in enumerate(sections)),
        _unknown(others),
        "</main>",
    ]  # fmt: skip
    return html_document(f"unskew report: {name}", "".join(parts), head), others


def _section(result: Result) -> Section | None:
    if result.kind is None:
        return None
    try:
        return SECTIONS[result.kind](result.content, result.path)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, IndexError):
        return None  # The fields fit and their values do not: not written by unskew.


def _refused(result: Result) -> Result:
    reason = result.reason or f"looks like {result.kind}, with values that do not fit"
    return Result(result.path, result.name, None, None, reason)


def _contents(sections: Sequence[tuple[Result, Section]]) -> Html:
    if len(sections) < 2:
        return Html("")
    lines = "".join(
        f'<li><span class="kind">{_kind(result)}</span><a href="#r{number}">'
        f'{text(section.title)}</a> <span class="soft">{section.outcome}</span></li>'
        for number, (result, section) in enumerate(sections)
    )
    return Html(f'<nav class="card" aria-label="Results"><ol>{lines}</ol></nav>')


def _card(number: int, result: Result, section: Section) -> Html:
    return Html(
        f'<section class="card" id="r{number}" aria-labelledby="h{number}">'
        f'<h2 id="h{number}">{text(section.title)}</h2>'
        f'<p class="outcome">{section.outcome}</p>{section.body}'
        f"{paragraph('From ', code(result.name), f', by unskew {_kind(result)}.', name='soft')}"
        "</section>"
    )


def _kind(result: Result) -> str:
    return "reproduce" if result.kind == "claims" else str(result.kind)


def _unknown(others: Sequence[Result]) -> Html:
    if not others:
        return Html("")
    rows = ((code(other.name), other.reason) for other in others)
    return Html(
        '<section class="card" aria-labelledby="unknown"><h2 id="unknown">Not recognised</h2>'
        f"{table(('file', 'why'), rows, left=2)}</section>"
    )
