"""The report in a real browser: it stands alone, and hostile content is only looked at."""

from __future__ import annotations

import pytest
from tests.report.results import write_results

from unskew.report.results.page import result_page
from unskew.report.results.reading import read_results

pytestmark = pytest.mark.browser


@pytest.fixture
def report(window, tmp_path):
    write_results(tmp_path)
    page, _ = result_page(tmp_path, read_results(tmp_path))
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    return window.open((tmp_path / "report.html").as_uri())


def test_it_stands_alone_and_runs_nothing(report, window):
    assert all(url.startswith(("file:", "data:")) for url in window.requested)
    assert len(window.requested) <= 2
    assert report.evaluate("document.querySelectorAll('script, iframe, link').length") == 0
    assert "owned" not in report.evaluate("document.title")
    assert window.errors == []


def test_every_result_is_there_and_can_be_reached(report):
    kinds = report.evaluate("[...document.querySelectorAll('.kind')].map(e => e.innerText)")
    assert sorted(kinds) == sorted(
        [
            "diagnose",
            "compare",
            "demo",
            "reproduce",
            "reproduce",
            "bench",
            "run",
            "simulate",
            "rebalance",
        ]
    )
    assert report.evaluate(
        "[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    assert "notes.json" in report.inner_text("section[aria-labelledby=unknown]")


@pytest.mark.parametrize("width", [420, 1200])
def test_it_fits_and_turns_dark(report, width):
    report.set_viewport_size({"width": width, "height": 900})
    assert report.evaluate("document.documentElement.scrollWidth") <= width
    colour = "getComputedStyle(document.body).backgroundColor"
    light = report.evaluate(colour)
    report.emulate_media(color_scheme="dark")
    assert report.evaluate(colour) != light
    assert report.pdf(print_background=True).startswith(b"%PDF")
