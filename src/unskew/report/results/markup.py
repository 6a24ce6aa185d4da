"""HTML building blocks of the sections; text from data is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from unskew.display import printable

MOST_TEXT = 400


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: Any) -> Html:
    """Any value as escaped text, shortened if long."""
    if isinstance(value, Html) or value == "":
        return Html(value)
    return Html(escape(printable(value, MOST_TEXT)))


def key(value: Any) -> Html:
    """A key of the data, isolated from the text direction around it."""
    return Html(f'<bdi class="key">{escape(printable(value))}</bdi>')


def figure(value: Any) -> Html:
    """Format a number for reading.

    >>> figure(1234567), figure(1.04567), figure(0.00012), figure("n/a")
    ('1,234,567', '1.046', '0.00012', 'n/a')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text("" if value is None else value)
    if isinstance(value, int):
        return Html(f"{value:,}")
    if abs(value) >= 1000:
        return Html(f"{value:,.0f}")
    return Html(f"{value:.3f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}")


def percent(value: float) -> Html:
    """A share."""
    return Html(f"{value:.2%}")


def verdict(good: bool | None, yes: str = "yes", no: str = "no") -> Html:
    """A good or bad outcome in words and colour, because not everyone sees the colour."""
    if good is None:
        return Html("")
    return Html(
        f'<span class="{"good" if good else "bad"}">{"✓ " + yes if good else "✗ " + no}</span>'
    )


def bar(share: float, name: str = "") -> Html:
    """A bar over a fraction of its cell; the number beside it says the same."""
    width = 100 * min(max(share, 0.0), 1.0)
    return Html(f'<span class="share {name}" style="width:{width:.2f}%"></span>')


def table(
    heads: Sequence[str], rows: Iterable[Sequence[Any]], best: int | None = None, left: int = 1
) -> Html:
    """Rows below heads; the first `left` columns are text, the row `best` stands out."""
    side = [' class="left"' if place < left else "" for place in range(len(heads))]
    head = "".join(
        f'<th scope="col"{at}>{text(name) if name else ""}</th>'
        for name, at in zip(heads, side, strict=True)
    )
    lines = []
    for number, row in enumerate(rows):
        cells = "".join(f"<td{at}>{text(cell)}</td>" for cell, at in zip(row, side, strict=True))
        lines.append(f"<tr{' class=best' if number == best else ''}>{cells}</tr>")
    return Html(
        '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def paragraph(*parts: Any, name: str = "") -> Html:
    """A paragraph of text and HTML."""
    attribute = f' class="{name}"' if name else ""
    return Html(f"<p{attribute}>{''.join(map(text, parts))}</p>")


def strong(value: Any) -> Html:
    """Bold text."""
    return Html(f"<b>{text(value)}</b>")


def code(value: Any) -> Html:
    """Code, such as a command."""
    return Html(f"<code>{text(value)}</code>")
