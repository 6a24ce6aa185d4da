from __future__ import annotations

import json
import re

import pytest
from tests.report.results import documents, write_results

from unskew.errors import InputError
from unskew.report.results.page import result_page
from unskew.report.results.reading import SHAPES, kind_of, read_results


@pytest.fixture
def folder(tmp_path):
    write_results(tmp_path)
    return tmp_path


def test_every_kind_of_result_is_recognised(folder):
    found = {each.name: each.kind for each in read_results(folder)}
    assert set(found.values()) == {*SHAPES, None}
    assert "paper/claims.json" not in found  # result.json says the same
    assert "paper/cells/1.json" not in found
    assert found["broken.json"] is None


def test_the_page_has_every_result_and_names_the_others(folder):
    page, others = result_page(folder, read_results(folder))
    assert {each.name for each in others} == {"notes.json", "broken.json", "bad-values.json"}
    for said in (
        "Skew of user",
        "planned-split",
        "2.7 times",
        "<b>1 of 2</b> claims hold",
        "<b>1 of 2</b> targets are met",
        "Application wordcount",
        "our machines have two cores",
        "data:image/png;base64,",
        "not JSON",
        "values that do not fit",
    ):
        assert said in page


def test_nothing_hostile_gets_through(folder):
    page, _ = result_page(folder, read_results(folder))
    body = page.split("</style>")[1]
    assert not re.search(r"<(script|iframe|link|object)|<img (?!alt=\"Figure)", body)
    assert not re.search(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", body
    )
    assert "&lt;script&gt;" in body
    assert "default-src 'none'" in page
    assert len(page) < 60_000


def test_no_address_is_loaded(folder):
    page, _ = result_page(folder, read_results(folder))
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    assert "url(" not in page


@pytest.mark.parametrize("name", [name for name in documents() if name != "notes.json"])
def test_documents_with_fields_missing_or_of_other_types_do_no_harm(tmp_path, name):
    document = documents()[name]
    rows = document if isinstance(document, list) else [document]
    for field in list(rows[0]):
        for value in (None, "x", [], -1, {"a": 1}):
            broken = [{**rows[0], field: value}]
            path = tmp_path / "broken.json"
            path.write_text(json.dumps(broken if isinstance(document, list) else broken[0]))
            page, _ = result_page(tmp_path, read_results(tmp_path))
            assert page.endswith("</html>\n")


@pytest.mark.parametrize("document", [None, 7, "text", [], {}, [1], [[]], {"rows": 1}])
def test_other_json_is_not_recognised(document):
    assert kind_of(document) is None


def test_command(run, folder):
    code, out, _ = run("report", str(folder))
    assert code == 0
    assert "9 results" in out
    assert (folder / "report.html").read_text().startswith("<!doctype html>")
    code, out, _ = run("report", str(folder), "--json", "--out", str(folder / "other.html"))
    told = json.loads(out)
    assert (code, len(told["results"]), len(told["not_recognised"])) == (0, 9, 3)


def test_refusals(run, tmp_path):
    code, _, err = run("report", str(tmp_path))
    assert (code, "--json >" in err) == (2, True)
    code, _, err = run("report", str(tmp_path / "nothing"))
    assert (code, "folder not found" in err) == (2, True)
    with pytest.raises(InputError):
        read_results(tmp_path)
