import json
from pathlib import Path

from unskew_lab.papers.document import papers_page


def claim(text: str, holds: bool, why: str = "", **more: object) -> dict[str, object]:
    found = {"figure": "8", "claim": text, "paper": "p", "ours": "o", "holds": holds, "why": why}
    return {**found, **more}


def test_claims_count_apart_from_what_we_add_and_from_real_streams(tmp_path: Path) -> None:
    beside = [
        {"stream": "words", "ours": "w", "holds": True},
        {"stream": "clicks", "ours": "c", "holds": False},
    ]
    drawn = {"draws": 11, "held": 9, "least": 0.5, "most": 2.0}
    result = {
        "paper": "consistent-grouping",
        "quick": True,
        "seed": 1,
        "claims": [
            claim("queues grow", True, evidence=beside, **drawn),
            claim("queues shrink", False, "they are short"),
            {**claim("queues vanish", False, "they are short"), "figure": "9"},
            claim("ours is better", True, added=True),
        ],
    }
    (tmp_path / "consistent-grouping.json").write_text(json.dumps(result))
    page = papers_page(tmp_path)
    assert "11 draws of seeds and hash functions, beside them 2 real streams" in page
    assert "1 of the paper's 3 claims hold" in page
    verdict = "yes, 9 of 11 draws (0.5 … 2)"
    assert f"| 8 | queues grow | p | o | {verdict} | 1 of 2, not clicks |" in page
    assert "- 8, 9: they are short" in page
    assert page.count("they are short") == 1
    assert "What we add to the paper, 1 of 1 hold:" in page
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
