"""Keys that somebody meant ill with; everything that shows keys is tried with them."""

from __future__ import annotations

HOSTILE = {
    "script": "<script>document.title='owned'</script>",
    "attribute": '"><img src=x onerror="document.title=\'owned\'">',
    "end of script": "</script><script>document.title='owned'</script>",
    "template": "${document.title='owned'}{{7*7}}",
    "bidi": "safe\u202egnp.exe\u2066\u2069\u200f",
    "zero width": "a\u200bb\ufeffc\u00add",
    "escape sequence": "\x1b[2J\x1b]0;owned\x07\x9b31mred",
    "newlines": "one\r\ntwo\u2028three\x0bfour",
    "null byte": "a\x00b",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "markup": "[bold red]loud[/] [link=https://example.org]here[/link]",
    "formula of TeX": "$\\frac{1}{0}$",
    "surrogate": "\ud800lonely",
    "megabyte": "m" * 1_000_000,
    "zalgo": "z" + "\u0316\u0317\u0318\u0319" * 200,
    "empty": "",
    "astral": "\U000e0041\U0001f600",
}
