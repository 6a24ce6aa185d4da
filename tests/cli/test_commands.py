from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest

from unskew import cli
from unskew.partitioners import ALL

FIELDS = {
    "scheme",
    "workers",
    "sources",
    "messages",
    "keys",
    "max_over_mean",
    "imbalance",
    "imbalance_average",
    "replicas",
    "replication",
    "seconds",
    "messages_per_second",
}
SMALL = ["--zipf", "1.2", "--keys", "500", "--messages", "5000", "--workers", "5"]


@pytest.mark.parametrize("scheme", ALL)
def test_simulate_prints_the_contract(run, scheme):
    code, out, err = run("simulate", *SMALL, "--scheme", scheme, "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert set(document) >= FIELDS
    assert document["messages"] == 5000


def test_simulate_prints_a_table(run):
    code, out, _ = run("simulate", *SMALL, "--scheme", "pkg")
    assert code == 0
    assert "max_over_mean" in out


def test_settings_reach_the_scheme(run):
    words = ["simulate", *SMALL, "--scheme", "pkg", "--sources", "3", "--json"]
    _, two, _ = run(*words)
    _, five, _ = run(*words, "--set", "choices=5", "--set", "source-by=key")
    assert json.loads(five)["replicas"] > json.loads(two)["replicas"]


def test_log_normal_streams(run):
    words = ["--lognormal", "1.789,2.366", "--messages", "2000", "--workers", "3"]
    code, out, _ = run("simulate", *words, "--scheme", "kg", "--json")
    assert code == 0
    assert json.loads(out)["messages"] == 2000


def test_file_streams(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("word\na\nb\na\n")
    words = ["simulate", "--input", str(path), "--scheme", "kg", "--workers", "2", "--json"]
    code, out, _ = run(*words, "--key", "word")
    assert (code, json.loads(out)["keys"]) == (0, 2)
    code, out, err = run(*words, "--key", "wrod")
    assert (code, out) == (2, "")
    assert "did you mean 'word'?" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "0"], "workers=0 is not in"),
        (["--scheme", "pgk"], "did you mean 'pkg'?"),
        (["--set", "choices=9"], "choices=9 is not in 1..workers=5"),
        (["--set", "choises=2"], "no setting of pkg 'choises'"),
        (["--set", "choices"], "is not NAME=VALUE"),
        (["--set", "source-by=luck"], "source-by='luck'"),
        (["--sources", "0"], "sources=0"),
        (["--zipf", "-1"], "exponent=-1.0 must be at least 0"),
        (["--lognormal", "1"], "exactly one stream"),
        (["--input", "nowhere.parquet"], "exactly one stream"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run, words, message):
    code, out, err = run("simulate", *SMALL, "--scheme", "pkg", "--json", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_bad_log_normal_parameters(run):
    code, _, err = run("simulate", "--lognormal", "1", "--scheme", "kg", "--workers", "2")
    assert code == 2
    assert "is not MU,SIGMA" in err


def test_unknown_benchmark(run):
    code, _, err = run("bench", "ruoters")
    assert code == 2
    assert "did you mean 'routers'?" in err


@pytest.mark.parametrize("module", ["no_such_package", "json"])
def test_a_broken_package_of_commands_costs_one_line(run, monkeypatch, module):
    broken = EntryPoint("broken", module, "unskew.commands")
    monkeypatch.setattr(cli, "entry_points", lambda group: [broken])
    code, out, err = run("--help")
    assert code == 0
    assert "simulate" in out
    assert err.startswith(f"unskew: the commands of {module} cannot be loaded")
    assert len(err.splitlines()) == 1


def test_another_package_cannot_replace_a_command(run, monkeypatch):
    other = EntryPoint("other", "unskew_lab.cli", "unskew.commands")
    monkeypatch.setattr(cli, "entry_points", lambda group: [other])
    monkeypatch.setattr("unskew_lab.cli.COMMANDS", {"simulate": "Something else."})
    assert "Something else" not in run("--help")[1]
