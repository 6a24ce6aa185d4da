from __future__ import annotations

import csv
import http.client
import io
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from tests.browser import streams
from tests.hostile import HOSTILE

from unskew.errors import InputError
from unskew.report.live.access import Access
from unskew.report.live.export import as_csv
from unskew.report.live.history import History
from unskew.report.live.lines import FIGURES, lines_file
from unskew.report.live.server import LiveServer


@pytest.fixture
def server(tmp_path):
    streams.write(tmp_path, 0, 20)
    with LiveServer("127.0.0.1", 0, History(tmp_path / "batches.jsonl")) as found:
        threading.Thread(target=found.serve_forever, args=(0.02,), daemon=True).start()
        yield found
        found.shutdown()


def ask(server, path, method="GET", **headers):
    line = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    line.request(method, path, headers=headers)
    answer = line.getresponse()
    body = answer.read()
    line.close()
    return answer, body


def test_the_history_reads_on(tmp_path):
    path = streams.write(tmp_path, 0, 5)
    history = History(path)
    history.update()
    first = history.since(0)
    assert (first["reset"], first["figures"]["batch"], first["last"]["batch"]) == (
        True,
        [*range(5)],
        4,
    )
    with path.open("a") as file:
        file.write('{"batch": 5, "rows"')
    history.update()
    assert history.since(first["number"])["figures"]["batch"] == []
    with path.open("a") as file:
        file.write(": 9, half\n")
    streams.write(tmp_path, 3, 4, rows=77)
    streams.write(tmp_path, 6, 7)
    history.update()
    news = history.since(first["number"])
    assert (news["reset"], news["figures"]["batch"]) == (False, [3, 6])
    assert history.batch(3)["rows"] == 77


def test_it_reads_what_streams_write(tmp_path):
    from unskew._spark.monitoring.feeds import LINES, lines_feed
    from unskew._spark.monitoring.progress import BatchProgress

    hottest = (("user\u202e", 3.0), ("b", 1.0))
    written = BatchProgress.of(
        4, [3, 1], 0.5, replicas=2, table_size=1, migrated_keys=7, hottest=hottest
    )
    lines_feed(tmp_path)(written)
    history = History(lines_file(tmp_path))
    assert history.path.name == LINES
    history.update()
    found = history.batch(4)
    assert {name: found[name] for name in FIGURES} == {
        name: getattr(written, name) for name in FIGURES
    }
    assert found["loads"] == [3, 1]
    assert found["hottest"] == [("user\\u202e", 3), ("b", 1)]


def test_a_file_that_is_replaced_is_read_anew(tmp_path):
    path = streams.write(tmp_path, 0, 50)
    history = History(path)
    history.update()
    number = history.since(0)["number"]
    path.unlink()
    history.update()
    assert len(history.all()) == 50
    streams.write(tmp_path, 0, 2)
    history.update()
    assert history.since(number)["reset"]
    assert len(history.all()) == 2
    streams.write(tmp_path, 2, 90)
    history.update()
    assert history.since(number)["reset"]


def test_only_the_newest_batches_are_remembered(tmp_path):
    history = History(streams.write(tmp_path, 0, 30), kept=10)
    history.update()
    assert [each["batch"] for each in history.all()] == [*range(20, 30)]


def test_lines_that_are_not_records_are_passed_over(tmp_path):
    path = tmp_path / "batches.jsonl"
    bad = ["null", "[]", "7", '{"batch": "x", "loads": []}', '{"batch": 1}', "\x00", ""]
    good = {"batch": 2, "loads": [1, None, "x", 1e999], "rows": "many", "seconds": float("nan")}
    path.write_text("\n".join([*bad, json.dumps(good), ""]))
    history = History(path)
    history.update()
    [record] = history.all()
    assert (record["loads"], record["rows"], record["seconds"]) == ([1, 0, 0, 0], None, None)
    json.dumps(history.since(0), allow_nan=False)


def test_where_the_lines_are(tmp_path):
    with pytest.raises(InputError, match="create it with unskew"):
        lines_file(tmp_path)
    with pytest.raises(InputError, match="folder not found"):
        lines_file(tmp_path / "nothing")
    found = streams.write(tmp_path / "checkpoint" / "unskew", 0, 1)
    assert lines_file(tmp_path / "checkpoint") == lines_file(found) == found
    assert lines_file(tmp_path) == found
    streams.write(tmp_path / "other" / "unskew", 0, 1)
    with pytest.raises(InputError, match="several streams"):
        lines_file(tmp_path)


def test_answers(server):
    answer, body = ask(server, "/")
    assert answer.status == 200
    assert b"<!doctype html>" in body
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    news = json.loads(ask(server, "/batches?after=0")[1])
    assert news["figures"]["batch"] == [*range(20)]
    assert json.loads(ask(server, "/batch?number=3")[1])["batch"] == 3
    assert json.loads(ask(server, "/batch?number=../x")[1]) is None
    for path in ("/etc/passwd", "/../server.py", "/static/watch.js", "/page.css/..", "//x"):
        assert ask(server, path)[0].status == 404
    assert ask(server, "/?" + "a=1&" * 20)[0].status == 400
    answer, body = ask(server, "/", method="HEAD")
    assert (answer.status, body) == (200, b"")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(server, method):
    assert ask(server, "/", method=method)[0].status == 501


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "192.168.0.1"]
)
def test_names_that_point_here_are_refused(server, host):
    answer, body = ask(server, "/batches", Host=host)
    assert (answer.status, b"batch" in body) == (403, False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:4646", "[::1]:1", "127.1.2.3"])
def test_names_of_this_machine_are_answered(server, host):
    assert ask(server, "/batches", Host=host)[0].status == 200


def test_a_token_for_other_hosts():
    access = Access.of("0.0.0.0")
    assert access.token is not None
    assert len(access.token) >= 32
    assert access.token != Access.of("0.0.0.0").token
    assert access.allows("anything", f"unskew={access.token}")
    for cookie in (None, "", "unskew=", "unskew=x", f"other={access.token}", "\x00;;=", "é=é"):
        assert not access.allows("127.0.0.1", cookie)


def test_the_csv_holds_no_formula_and_no_control_character(tmp_path):
    for batch, key in enumerate(HOSTILE.values()):
        streams.write(tmp_path, batch, batch + 1, hottest=[[key, 5.0]])
    history = History(tmp_path / "batches.jsonl")
    history.update()
    rows = list(csv.DictReader(io.StringIO(as_csv(history.all()))))
    assert len(rows) == len(HOSTILE)
    cells = [row["hottest_key"] for row in rows]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert all(cell.isprintable() and len(cell) <= 61 for cell in cells)
    assert float(rows[3]["max_over_mean"]) == streams.record(3)["max_over_mean"]


def test_the_command_needs_no_spark_and_ends_by_ctrl_c(tmp_path):
    streams.write(tmp_path, 0, 3)
    program = (
        "import sys; from unskew.cli import main; sys.argv[0] = 'unskew'\n"
        "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, "watch", str(tmp_path), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # A test run in the background ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    told = "".join(iter(process.stdout.readline, "}\n")) + "}"
    url = json.loads(told)["url"]
    assert url.startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, loaded = process.communicate(timeout=120)
    assert process.returncode == 0
    assert not {"pyspark", "numba", "numpy", "pyarrow"} & set(loaded.split())


def test_refusals(run, tmp_path):
    streams.write(tmp_path, 0, 1)
    for words, said in (
        (["watch", str(tmp_path), "--port", "70000"], "0..65535"),
        (
            ["watch", str(tmp_path), "--host", "no.such.host.invalid", "--port", "0"],
            "cannot listen",
        ),
        (["watch", str(tmp_path / "x")], "folder not found"),
    ):
        code, _, err = run(*words)
        assert (code, said in err) == (2, True), err
