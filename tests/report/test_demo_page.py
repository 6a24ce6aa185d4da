from __future__ import annotations

from unskew.report.demo_page import demo_page

REPORT = {
    "rows": 1000,
    "slots": 4,
    "ideal": 0.5,
    "runs": [
        {"name": "plain <b>Spark</b>", "seconds": 4.0, "same_result": True},
        {"name": "unskew", "seconds": 1.0, "same_result": False},
    ],
}


def test_bars_are_to_scale_and_differences_are_marked():
    page = demo_page(REPORT, "<p>diagnosis</p>")
    assert "width:100.0%" in page
    assert "width:25.0%" in page
    assert "margin-left:12.5%" in page
    assert page.count("other rows") == 1
    assert "<p>diagnosis</p>" in page


def test_names_are_escaped_and_nothing_is_loaded():
    page = demo_page(REPORT, "")
    assert "plain &lt;b&gt;Spark" in page
    assert "http" not in page
