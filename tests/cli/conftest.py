from __future__ import annotations

import sys

import pytest

from evenkeel import cli


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `evenkeel WORDS`; gives exit code, standard output and error output."""

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["evenkeel", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return stop.value.code, output.out, output.err

    return command
