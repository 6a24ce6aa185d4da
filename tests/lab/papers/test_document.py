import json
from pathlib import Path

from unskew_lab.papers.document import papers_page


def claim(text: str, holds: bool, why: str = "") -> dict[str, object]:
    return {"figure": "8", "claim": text, "paper": "p", "ours": "o", "holds": holds, "why": why}


def test_real_streams_are_gathered_behind_the_generated_one(tmp_path: Path) -> None:
    result = {
        "paper": "consistent-grouping",
        "quick": True,
        "seed": 1,
        "streams": ["words", "clicks"],
        "claims": [
            claim("WP-like: queues grow", True),
            claim("words: queues grow", True),
            claim("clicks: queues grow", False, "they are short"),
        ],
    }
    (tmp_path / "consistent-grouping.json").write_text(json.dumps(result))
    page = papers_page(tmp_path)
    assert "2 of 3 claims hold" in page
    assert "| 8 | WP-like: queues grow | p | o | yes | 1 of 2, not clicks |" in page
    assert "- 8: they are short" in page
    assert "Fig 12" in page  # what was left out
    assert "Partial Key" not in page


def test_full_size_says_what_it_changes(tmp_path: Path) -> None:
    quick = {
        "quick": True,
        "seed": 1,
        "streams": [],
        "claims": [claim("a", True), claim("b", True)],
    }
    full = {**quick, "quick": False, "claims": [claim("a", True), claim("b", False)]}
    (tmp_path / "consistent-grouping.json").write_text(json.dumps(quick))
    assert "full size" not in papers_page(tmp_path)
    (tmp_path / "consistent-grouping-full.json").write_text(json.dumps(full))
    page = papers_page(tmp_path)
    assert "At full size, without real streams: 1 of 2 hold." in page
    assert "- 8, b: does not hold (o)" in page
    assert "- 8, a" not in page


def test_no_results_no_page(tmp_path: Path) -> None:
    assert papers_page(tmp_path) == ""
