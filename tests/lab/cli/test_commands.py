"""The laboratory's commands stand in `unskew --help` and say what they need."""

from __future__ import annotations

from importlib import import_module

import pytest

from unskew.cli import outputs
from unskew_lab.cli import COMMANDS

every_command = pytest.mark.parametrize("name", COMMANDS)


@every_command
def test_help_has_examples_and_json_and_fits(run, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(name, "--help")
    assert code == 0
    assert f"unskew {name} " in out.split("Example")[1]
    assert "--json" in out
    assert max(map(len, out.splitlines())) <= 80


@every_command
def test_the_overview_says_what_each_command_says_itself(name):
    command = getattr(import_module(f"unskew_lab.cli.{name}"), name)
    assert " ".join(command.__doc__.split("\n\n")[0].split()) == COMMANDS[name]


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
