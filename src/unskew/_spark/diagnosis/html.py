"""Diagnoses as HTML. Keys are untrusted data: all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from unskew._spark.diagnosis.text import STATE_HEADS, state_cells
from unskew.display import html_document, printable

if TYPE_CHECKING:
    from unskew._spark.diagnosis.keys import Diagnosis
    from unskew._spark.diagnosis.state import StateDiagnosis, StoreSkew

HEADS = ("scheme", "guarantee", "max/mean", "replicas", "executes")

# Colours for light and dark pages alike: the theme of a notebook is unknown.
STYLE = """
.unskew{font:14px/1.5 system-ui,sans-serif;max-width:60rem}
.unskew table{border-collapse:collapse;margin:.8rem 0}
.unskew th,.unskew td{padding:.2rem .7rem;text-align:right;
border-bottom:1px solid rgba(128,128,128,.3)}
.unskew th:first-child,.unskew td:first-child{text-align:left;overflow-wrap:anywhere}
.unskew td:has(.bar){text-align:left;min-width:16rem}
.unskew .bar{display:inline-block;height:.6rem;background:#4a80c9}
.unskew .best{background:rgba(70,160,60,.2)}
.unskew code{background:rgba(128,128,128,.15);padding:.15rem .35rem}
"""


def page(diagnosis: Diagnosis) -> str:
    """A self-contained document."""
    title = f"Skew of {printable(', '.join(diagnosis.key))}"
    return html_document(title, fragment(diagnosis))


def fragment(diagnosis: Diagnosis) -> str:
    """The part that a notebook shows."""
    advice = diagnosis.recommendation
    return "".join(
        [
            f'<div class="unskew"><style>{STYLE}</style>',
            f"<h2>Skew of {escape(printable(', '.join(diagnosis.key)))}</h2>",
            f"<p>{diagnosis.rows:,} rows, about {diagnosis.keys:,} keys, {diagnosis.nulls:,} rows "
            f"with a null key, Zipf slope {diagnosis.slope:.2f}.</p>",
            f"<p><b>{escape(advice.scheme)}</b>: {escape(advice.why)}<br>"
            f"<code>{escape(advice.code)}</code></p>",
            table(("heaviest key", "rows", "share", ""), _key_rows(diagnosis)),
            table(HEADS, _scheme_rows(diagnosis)),
            f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in diagnosis.spark)}</ul>",
            f"<p>Measured by {escape(diagnosis.statistics)}.</p></div>",
        ]
    )


def _key_rows(diagnosis: Diagnosis) -> Iterable[tuple[str, Sequence[str]]]:
    widest = max((key.share for key in diagnosis.top), default=1.0)
    for key in diagnosis.top:
        bar = f'<span class="bar" style="width:{15 * key.share / widest:.2f}rem"></span>'
        yield (
            "",
            (f"<bdi>{escape(printable(key.key))}</bdi>", f"{key.rows:,}", f"{key.share:.2%}", bar),
        )


def _scheme_rows(diagnosis: Diagnosis) -> Iterable[tuple[str, Sequence[str]]]:
    for each in diagnosis.schemes:
        yield (
            ' class="best"' if each.scheme == diagnosis.recommendation.scheme else "",
            (
                escape(each.scheme),
                escape(each.need),
                f"{each.max_over_mean:.3f}",
                f"{each.replicas:,}",
                "native" if each.native else "Python UDF",
            ),
        )


def table(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Rows of cells that are HTML already, each row with its attributes."""
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(
        f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for mark, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def state_page(diagnosis: StateDiagnosis) -> str:
    """A self-contained document."""
    return html_document(f"State of {diagnosis.checkpoint}", state_fragment(diagnosis))


def state_fragment(diagnosis: StateDiagnosis) -> str:
    """The part that a notebook shows: the stores, then the partitions of each."""
    parts = [
        f'<div class="unskew"><style>{STYLE}</style>',
        f"<h2>State after batch {diagnosis.batch}</h2><p>{escape(diagnosis.checkpoint)}</p>",
        table(
            STATE_HEADS, (("", list(map(escape, state_cells(store)))) for store in diagnosis.stores)
        ),
    ]
    for store in diagnosis.stores:
        parts.append(f"<h3>{escape(store.name)}, {escape(store.store)}</h3>")
        parts.append(table(("partition", store.unit, ""), _bars(store)))
    return "".join([*parts, "</div>"])


def _bars(store: StoreSkew) -> Iterable[tuple[str, Sequence[str]]]:
    widest = max(store.loads, default=0) or 1
    for place, load in store.fullest(20):
        bar = f'<span class="bar" style="width:{8 * load / widest:.2f}rem"></span>'
        yield "", (str(place), f"{load:,}", bar)
