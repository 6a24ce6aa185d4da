"""The report in a real browser: it stands alone, and hostile content is only looked at."""

from __future__ import annotations

import pytest
from tests.report.results import write_results

from unskew.report.results.page import result_page
from unskew.report.results.reading import read_results

pytestmark = pytest.mark.browser


@pytest.fixture
def report(browser, tmp_path):
    write_results(tmp_path)
    page, _ = result_page(tmp_path, read_results(tmp_path))
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    found = browser.page()
    found.open((tmp_path / "report.html").as_uri())
    return found


def test_it_stands_alone_and_runs_nothing(report):
    assert all(url.startswith(("file:", "data:")) for url in report.requested())
    assert len(report.requested()) <= 2
    assert report.run("document.querySelectorAll('script, iframe, link').length") == 0
    assert "owned" not in report.run("document.title")
    assert report.complaints() == []


def test_every_result_is_there_and_can_be_reached(report):
    kinds = report.run("[...document.querySelectorAll('.kind')].map(e => e.innerText)")
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
    assert report.run(
        "[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    assert "notes.json" in report.text("section[aria-labelledby=unknown]")


@pytest.mark.parametrize("width", [420, 1200])
def test_it_fits_and_turns_dark(report, width):
    report.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                deviceScaleFactor=1, mobile=False)  # fmt: skip
    assert report.run("document.documentElement.scrollWidth") <= width
    colour = "getComputedStyle(document.body).backgroundColor"
    light = report.run(colour)
    report.media("screen", dark=True)
    assert report.run(colour) != light
    assert report.paper().startswith(b"%PDF")
