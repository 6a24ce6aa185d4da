"""Keys that mean ill are harmless in every form of a diagnosis, and in what the commands print."""

from __future__ import annotations

import io
import unicodedata

import pytest
from rich.console import Console
from tests.hostile import HOSTILE

from unskew._spark.diagnosis import text as diagnosis_text
from unskew._spark.diagnosis.keys import Diagnosis, Recommendation, SchemeForecast, TopKey
from unskew.cli.terminal import print_json
from unskew_lab.cli.run_tables import _rows

KEYS = list(HOSTILE.values())


@pytest.fixture
def diagnosis() -> Diagnosis:
    top = tuple(TopKey(key, 1000 - place, 0.01) for place, key in enumerate(KEYS))
    schemes = (SchemeForecast("kg", "whole-key", 3.0, 0.1, 100, 3.0, True),)
    advice = Recommendation("kg", "even", "df", "df")
    name = ("<b>\x1b[2J", "k")
    return Diagnosis(name, 8, 10_000, 500, 0, 1.0, top, schemes, (), advice, "counting")


def unseen(text: str) -> set[str]:
    return {unicodedata.category(letter) for letter in text if letter != "\n"} & {"Cc", "Cf", "Cs"}


def test_pages(diagnosis):
    for page in (diagnosis.to_html(), diagnosis._repr_html_()):
        assert not unseen(page.split("</style>")[1])
        assert not any(bad in page for bad in ("<script", "<img", "<b>\x1b"))
        assert len(page) < 20_000
        page.encode()


@pytest.mark.parametrize("start", [0, 10])
def test_terminal(diagnosis, monkeypatch, start):
    written = io.StringIO()
    plain = Console(file=written, width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr(diagnosis_text, "Console", lambda: plain)
    object.__setattr__(diagnosis, "top", diagnosis.top[start:])
    diagnosis.show()
    out = written.getvalue()
    assert not unseen(out)
    assert max(map(len, out.splitlines())) <= 80


def test_plot(diagnosis):
    figure = diagnosis.plot()
    figure.canvas.draw()
    assert not any(unseen(label.get_text()) for label in figure.axes[0].get_yticklabels())


def test_rows_of_an_app():
    written = io.StringIO()
    console = Console(file=written, width=80)
    console.print(_rows([{"word": key, "rows": 1} for key in KEYS]))
    assert not unseen(written.getvalue())
    assert "[bold red]loud[/]" in written.getvalue()


def test_json(capsys):
    print_json({"top": KEYS})
    assert not unseen(capsys.readouterr().out)
