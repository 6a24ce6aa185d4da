"""`unskew bench streaming`: its parts by name, and what is left of a run that is cut short."""

from __future__ import annotations

import json

import pytest

from unskew.errors import StateError, UnknownNameError
from unskew_lab.benchmarks import Measurement, streaming

FIGURE = Measurement("a batch", 1.0, 1.0, "itself", None)


def test_parts_are_chosen_by_their_names(monkeypatch):
    ran = []
    for name in streaming.PARTS:
        monkeypatch.setitem(streaming.PARTS, name, lambda name=name: ran.append(name) or [FIGURE])
    assert list(streaming.run(["mov", "grow"])) == [FIGURE, FIGURE]
    assert ran == ["moves", "growth"]
    assert len(list(streaming.run())) == len(streaming.PARTS)


def test_an_unknown_part_is_refused_before_anything_runs():
    with pytest.raises(UnknownNameError, match="no part of streaming 'speed'"):
        next(streaming.run(["speed"]))


@pytest.mark.parametrize("error", [StateError("cut"), SystemExit(143), KeyboardInterrupt()])
def test_a_run_that_is_cut_short_keeps_its_figures(run, monkeypatch, error):
    def cut():
        yield FIGURE
        raise error

    monkeypatch.setitem(streaming.PARTS, "moves", cut)
    monkeypatch.setattr("unskew.testing.stop_on_sigterm", lambda: None)
    # Ctrl-C ends the Java process, which other tests of this process need.
    monkeypatch.setattr("unskew.cli._stop", lambda: None)
    code, out, err = run("bench", "streaming", "--jobs", "moves", "--json")
    assert code != 0
    assert json.loads(out) == [FIGURE.as_dict()]
    assert "a batch: 1.000 s" in err
