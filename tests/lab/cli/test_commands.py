"""The laboratory's commands stand in `unskew --help` and say what they need."""

from __future__ import annotations

import pytest

from unskew.cli import outputs


def test_the_laboratory_comes_after_the_library(run):
    code, out, _ = run("--help")
    assert code == 0
    places = [out.index(word) for word in ("Commands", " watch ", "Laboratory", " reproduce ")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "words",
    [["run", "wordcount"], ["bench", "spark"], ["bench"], ["reproduce", "posg", "--cluster"]],
)
def test_without_spark_one_sentence_names_the_extra(run, monkeypatch, words):
    monkeypatch.setattr(outputs, "find_spec", lambda module: None)
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "pip install 'unskew[lab]'" in err
    assert len(err.splitlines()) == 1
