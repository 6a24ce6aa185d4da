"""Every block of code in README and docs runs, or says why it does not."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.documents import (
    ROOT,
    SHOWN_ONLY,
    blocks,
    commands_in,
    commands_of,
    documents,
    python_of,
    shape,
)

from unskew import cli
from unskew.workloads import ZipfStream
from unskew_lab.apps import ALL

WITHOUT_SPARK = ["errors.md", "planners.md", "simulator.md"]
GUIDES = ["README.md", "batch.md", "costs.md", "how-to.md", "start.md", "state.md"]
APPS = [f"{app}.md" for app in ALL if app not in ("self-join", "tpch-q5")]
ON_SPARK = [*GUIDES, *APPS]
CLASSIC = {"state.md": pytest.mark.classic("stateful refuses Spark Connect")}
TRANSCRIPT = "first-half-hour.md"
ELSEWHERE = {"streaming.md": "tests/spark/test_streaming_guide.py", TRANSCRIPT: __file__}
SPARK_COMMANDS = {"diagnose", "run", "demo"}
DOCUMENTS = {path.name: path for path in documents()}
WITH_COMMANDS = [name for name in DOCUMENTS if commands_of(DOCUMENTS[name]) and name != TRANSCRIPT]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """What the commands of the documents read."""
    monkeypatch.chdir(tmp_path)
    ids = next(ZipfStream(1.3, keys=300, messages=5_000).ids())
    table = pa.table({"user_id": ids, "user": ids})
    pq.write_table(table, "clicks.parquet")
    statistics = pa.table({"key": range(90), "cost": range(1, 91), "memory": [1] * 90})
    for name in ("keys.parquet", "statistics.parquet"):
        pq.write_table(statistics, name)
    pq.write_table(pa.table({"source": ids, "key": ids}), "edges.parquet")
    Path("book.txt").write_text("to be or not to be that is the question\n" * 20)
    return tmp_path


def run(command, monkeypatch):
    """Run a command in this process; gives its exit code and what it printed."""
    monkeypatch.setattr(sys, "argv", command.words)
    out = io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        pytest.raises(SystemExit) as stop,
    ):
        cli.main()
    return stop.value.code, out.getvalue()


def check(command, monkeypatch):
    """Run it and compare what it prints with the document, but for numbers."""
    assert command.words[0] == "unskew", command.words
    code, printed = run(command, monkeypatch)
    refused = command.output.startswith("unskew: ")
    assert code == (2 if refused else 0), printed
    if command.output.strip():
        assert shape(printed) == shape(command.output), command.words


def test_every_document_is_run_somewhere():
    known = {*WITHOUT_SPARK, *ON_SPARK, *ELSEWHERE}
    for name, path in DOCUMENTS.items():
        if any(block.language == "python" and not block.reason for block in blocks(path)):
            assert name in known, f"{name} has Python that no test runs"
    assert all((ROOT / place).exists() for place in ELSEWHERE.values())


def test_blocks_are_of_a_kind_that_is_run():
    for path in documents():
        for block in blocks(path):
            known = {"python", "sh", "console", *SHOWN_ONLY}
            assert block.language in known, f"{path.name}:{block.line} is {block.language!r}"


@pytest.mark.parametrize("name", WITHOUT_SPARK)
def test_python_without_spark(name, files):
    exec(compile(python_of(DOCUMENTS[name]), name, "exec"), {"__name__": "document"})


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=CLASSIC.get(name, ())) for name in ON_SPARK]
)
def test_python_on_spark(name, spark, files):
    names = {"__name__": "document", "spark": spark}
    exec(compile(python_of(DOCUMENTS[name]), name, "exec"), names)


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_without_spark(name, files, monkeypatch):
    for command in commands_of(DOCUMENTS[name]):
        if command.words[1] not in SPARK_COMMANDS:
            check(command, monkeypatch)


@pytest.mark.spark
@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands_on_spark(name, files, request, monkeypatch):
    found = [each for each in commands_of(DOCUMENTS[name]) if each.words[1] in SPARK_COMMANDS]
    if found:
        request.getfixturevalue("spark")
    for command in found:
        check(command, monkeypatch)


@pytest.mark.spark
def test_the_first_half_hour_goes_as_written(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "document", "spark": spark}
    for block in blocks(DOCUMENTS[TRANSCRIPT]):
        if block.language == "python":
            exec(compile(block.text, TRANSCRIPT, "exec"), names)
        elif block.reason is None:
            for command in commands_in(block):
                check(command, monkeypatch)


def load(name, monkeypatch):
    """A module of the tools that write the documents."""
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "docs"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("scheme", ["kg", "pkg", "planned-split"])
def test_the_figures_of_the_schemes_are_current(scheme, monkeypatch):
    tool = load("scheme_pages", monkeypatch)
    assert json.loads(tool.RESULTS.read_text())[scheme]["1.2"] == tool.measured(scheme, 1.2)


def test_the_table_of_errors_is_whole(monkeypatch):
    tool = load("error_table", monkeypatch)
    listed = tool.error_messages()
    assert "workers={workers} is not in" in listed
    assert "### ParameterTypeError" in listed
