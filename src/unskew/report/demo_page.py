"""The page of the demo: its results and the diagnosis of its key, self-contained."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from unskew.display import html_document

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#1f2430;background:#fff;margin:2rem auto;
max-width:60rem;padding:0 1rem}
.run{display:grid;grid-template-columns:14rem 1fr 9.5rem;gap:.8rem;align-items:center;
margin:.4rem 0}
.run .bar{background:#9aa7b8;height:1.4rem;border-radius:.2rem}
.run.ours .bar{background:#2a9d8f}
.ideal{border-left:2px dotted #1f2430;padding-left:.4rem;font-size:.85rem}
.bad{color:#b00020;font-weight:bold}
@media (prefers-color-scheme:dark){body{color:#e6e9ef;background:#16181d}
.ideal{border-color:#e6e9ef}}
"""


def demo_page(report: Mapping[str, Any], diagnosis: str) -> str:
    """One bar per run, the ideal beside them, and below the diagnosis, which is HTML."""
    longest = max(run["seconds"] for run in report["runs"])
    bars = "".join(_bar(run, longest) for run in report["runs"])
    ideal = 100 * report["ideal"] / longest
    body = (
        f"<h1>{report['rows']:,} rows, {report['slots']} slots: plain Spark and unskew</h1>"
        "<p>A function of each group, 0.2&nbsp;ms a row, on an embedded Spark. "
        "All runs give the same rows unless marked.</p>"
        f"{bars}"
        '<div class="run"><span></span><span>'
        f'<span class="ideal" style="margin-left:{ideal:.1f}%">spread perfectly: '
        f"{report['ideal']:.1f}&nbsp;s</span></span></div>"
        f"{diagnosis}"
    )
    return html_document("unskew demo", body, f"<style>{_STYLE}</style>")


def _bar(run: Mapping[str, Any], longest: float) -> str:
    width = 100 * run["seconds"] / longest
    ours = " ours" if run["name"] == "unskew" else ""
    verdict = "same rows" if run["same_result"] else '<b class="bad">other rows</b>'
    return (
        f'<div class="run{ours}"><span>{escape(run["name"])}</span>'
        f'<div><div class="bar" style="width:{width:.1f}%"></div></div>'
        f"<span>{run['seconds']:.1f}&nbsp;s, {verdict}</span></div>"
    )
