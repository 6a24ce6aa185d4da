"""What all commands have in common: help, completion, width, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest

from unskew.cli import COMMANDS, known_commands, terminal
from unskew.partitioners import ALL

every_command = pytest.mark.parametrize("name", known_commands())
"""The library's own, and those that the laboratory adds."""


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
    known = known_commands()[name]
    command = getattr(import_module(known.module), name)
    assert " ".join(command.__doc__.split("\n\n")[0].split()) == known.first_line


def test_the_overview_loads_no_command():
    program = (
        "import sys; sys.argv = ['unskew', '--help']\nfrom unskew.cli import main\n"
        "try: main()\nexcept SystemExit: print(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert all(name in ended.stdout for name in COMMANDS)
    assert "Exit codes" in ended.stdout
    assert not {"numba", "numpy", "pyspark"} & set(ended.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("unskew re", {"rebalance", "reproduce", "report"}),
        ("unskew simulate --scheme static", {"static-two-choices"}),
        ("unskew reproduce partial", {"partial-key-grouping"}),
        ("unskew rebalance --algorithm mixed-", {"mixed-bf"}),
        ("unskew watch --ho", {"--host"}),
    ],
)
def test_completion(run, monkeypatch, words, offered):
    monkeypatch.setenv("_UNSKEW_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    code, out, _ = run()
    assert code == 0
    assert set(out.split()) == offered


def test_a_wrong_command_is_refused(run):
    code, _, err = run("wach")
    assert code == 2
    assert "watch" in err


def test_errors_that_quote_data_cannot_repaint_the_terminal(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a\x1b[2J\u202e,b\n1,2\n")
    words = ["--scheme", "kg", "--workers", "2", "--key", "no"]
    code, _, err = run("simulate", "--input", str(path), *words)
    assert code == 2
    assert "\\x1b[2J" in err
    assert "\x1b" not in err


def test_bars_tell_rows_a_second_and_the_time_left(monkeypatch):
    from rich.console import Console

    shown = Console(force_terminal=True, width=80, stderr=True, record=True)
    monkeypatch.setattr(terminal, "errors", shown)
    with terminal.progress_bar("Routing", 1000, shown=True) as advance:
        advance(400)
        advance(200)
    said = shown.export_text()
    assert "rows/s" in said
    assert "60%" in said


@pytest.mark.long  # a minute: the demo has to come to its first Python worker
@pytest.mark.spark
def test_ctrl_c_stops_spark_and_leaves_no_java(tmp_path):
    program = "import sys; from unskew.cli import main; sys.argv[0] = 'unskew'; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "demo", "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A test run in the background ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        _wait_for(lambda: any("daemon" in _words(pid) for pid in _session(process.pid)))
        assert any("java" in _words(pid) for pid in _session(process.pid))
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 130, said
        assert "stopped" in said
        assert "Traceback" not in said
        _wait_for(lambda: not _session(process.pid))
        assert _session(process.pid) == []
    finally:
        for pid in _session(process.pid):
            os.kill(pid, signal.SIGKILL)


def _session(leader: int) -> list[int]:
    """The processes that a terminal's Ctrl-C would reach."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == leader:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                found += [int(entry.name)] if state != "Z" else []
        except (OSError, ProcessLookupError):
            continue
    return found


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _wait_for(condition, seconds: float = 600.0):
    until = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "--scheme", "pkg"],
        ["compare", "--need", "any-row"],
        ["compare", "--rate", "0.8", "--capacities", "3x5"],
    ],
)
def test_tables_fit_eighty_columns_and_cut_no_word(run, words):
    stream = ["--zipf", "1.2", "--keys", "500", "--messages", "5000", "--workers", "5"]
    code, out, _ = run(*words, *stream)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    names = {line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")}
    assert names - {*ALL} == set() or "compare" not in words
