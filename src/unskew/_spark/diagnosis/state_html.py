"""The diagnosis of state stores as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape as plain
from rich.table import Table

from unskew._spark.diagnosis.html import STYLE, table
from unskew.display import html_document

if TYPE_CHECKING:
    from unskew._spark.diagnosis.state import StateDiagnosis
    from unskew._spark.diagnosis.store_skew import StoreSkew

_HEADS = ("operator", "store", "state", "partitions", "max/mean", "fullest partitions")


def print_state(diagnosis: StateDiagnosis) -> None:
    """Print a line for each store."""
    console = Console()
    console.print(
        f"[bold]{plain(diagnosis.checkpoint)}[/]: state after batch {diagnosis.batch}",
        highlight=False,
    )
    shown = Table(*_HEADS)
    for store in diagnosis.stores:
        shown.add_row(*map(plain, _cells(store)))
    console.print(shown)


def page(diagnosis: StateDiagnosis) -> str:
    """A self-contained document."""
    return html_document(f"State of {diagnosis.checkpoint}", fragment(diagnosis))


def fragment(diagnosis: StateDiagnosis) -> str:
    """The part that a notebook shows: the stores, then the partitions of each."""
    parts = [
        f'<div class="unskew"><style>{STYLE}</style>',
        f"<h2>State after batch {diagnosis.batch}</h2><p>{escape(diagnosis.checkpoint)}</p>",
        table(_HEADS, (("", list(map(escape, _cells(store)))) for store in diagnosis.stores)),
    ]
    for store in diagnosis.stores:
        parts.append(f"<h3>{escape(store.name)}, {escape(store.store)}</h3>")
        parts.append(table(("partition", store.unit, ""), _bars(store)))
    return "".join([*parts, "</div>"])


def _cells(store: StoreSkew) -> Sequence[str]:
    fullest = ", ".join(f"{place}: {load:,}" for place, load in store.fullest())
    return (
        f"{store.operator} {store.name}",
        store.store,
        f"{store.total:,} {store.unit}",
        str(len(store.loads)),
        f"{store.max_over_mean:.3f}",
        fullest,
    )


def _bars(store: StoreSkew) -> Iterable[tuple[str, Sequence[str]]]:
    widest = max(store.loads, default=0) or 1
    for place, load in store.fullest(20):
        bar = f'<span class="bar" style="width:{8 * load / widest:.2f}rem"></span>'
        yield "", (str(place), f"{load:,}", bar)
