"""Data escaped for display on a terminal, a page or a plot or in a CSV file; HTML documents.

A key may hold anything: escape sequences that repaint a terminal, marks that turn the reading
direction, a megabyte of one letter, a formula that a spreadsheet would run. Whatever displays a
key passes it through `printable`. HTML and console markup are escaped in addition, where they are
written.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Any

WIDTH = 60
"""Characters of a key that are shown."""

_STACKED = 3
"""Marks on one letter; scripts need two or three, and a hundred would paint over other lines."""

# Controls, C1 included; format characters such as bidi marks and zero-width spaces; surrogates;
# private use; line and paragraph separators; spaces that look like another one; fillers that look
# like nothing; variation selectors.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    "\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U0010ffff]"
)
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def printable(key: Any, width: int = WIDTH) -> str:
    r"""A key as one line of at most `width` characters, all of them visible.

    Idempotent: escaping already escaped text changes nothing.

    >>> printable("user-7"), printable(None), printable("")
    ('user-7', 'NULL', '""')
    >>> printable("\x1b[2Jgone\u202e")
    '\\x1b[2Jgone\\u202e'
    >>> printable("https://example.org/" + "a" * 1_000_000, width=40)
    'https://exam…aaaa (1,000,020 characters)'
    """
    if key is None:
        return "NULL"
    text = key if isinstance(key, str) else str(key)
    if text == "":
        return '""'
    if len(text) <= width:
        line = _visible(text)
        if len(line) <= width:
            return line
    return _shortened(text, width)


def escape_controls(text: str) -> str:
    r"""Text of several lines that may quote data, with invisible characters escaped.

    >>> escape_controls("no column \x9b31m\nThere are: a")
    'no column \\x9b31m\nThere are: a'
    """
    return "\n".join(map(_visible, text.split("\n")))


def csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet reads as a formula; numbers stay numbers.

    >>> csv_cell("=HYPERLINK(0)"), csv_cell("plain"), csv_cell(-1.5)
    ("'=HYPERLINK(0)", 'plain', -1.5)
    """
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(" ").startswith(_FORMULA) else value


def escaped_json(document: str) -> str:
    r"""Equivalent JSON in which all invisible characters are escaped.

    >>> escaped_json('{"key": "a\u202eb"}')
    '{"key": "a\\u202eb"}'
    """
    return re.sub(r"(?!\n)" + _UNSEEN.pattern, _json_escape, document)


def html_document(title: str, body: str, head: str = "") -> str:
    """A whole HTML document that follows the reader's colour scheme; `body` and `head` are HTML.

    >>> html_document("a < b", "<p>text</p>").splitlines()[-1]
    '<title>a &lt; b</title></head><body><p>text</p></body></html>'
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">{head}\n'
        f"<title>{escape(title)}</title></head><body>{body}</body></html>\n"
    )


def _visible(text: str) -> str:
    """Text with invisible characters, and combining marks stacked too high, escaped."""
    line = _UNSEEN.sub(lambda found: _escape(found[0]), text)
    if line.isascii():
        return line
    stacked, letters = 0, []
    for letter in line:
        stacked = stacked + 1 if unicodedata.category(letter) in ("Mn", "Me") else 0
        letters.append(_escape(letter) if stacked > _STACKED else letter)
    return "".join(letters)


def _shortened(text: str, width: int) -> str:
    """The beginning, the end and the length: keys that begin alike often end differently."""
    length = f" ({len(text):,} characters)"
    room = max(width - len(length) - 1, 4)
    tail = room // 4
    head = room - tail
    # Escapes are longer than what they stand for, so that twice the room is ample.
    start, end = _visible(text[: 2 * head]), _visible(text[-2 * tail :])
    return f"{start[:head]}…{end[-tail:]}{length}"


def _escape(letter: str) -> str:
    code = ord(letter)
    if letter in _SHORT:
        return _SHORT[letter]
    return (
        rf"\x{code:02x}" if code < 256 else rf"\u{code:04x}" if code < 65536 else rf"\U{code:08x}"
    )


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(rf"\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
