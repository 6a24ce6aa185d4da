from __future__ import annotations

import json
import math
from datetime import datetime
from decimal import Decimal

import pytest

FIELDS = {"app", "scheme", "seconds", "max_over_mean", "replicas", "rows", "matches_reference"}


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("to be or not to be\nthat is the question, to be sure\n")
    return path


@pytest.mark.spark
def test_compare_prints_the_contract(run, spark, text):
    code, out, _ = run("run", "wordcount", "--input", str(text), "--compare", "--json")
    rows = json.loads(out)
    assert code == 0
    assert [row["scheme"] for row in rows] == ["planned-split", "pkg", "kg"]
    assert all(set(row) >= FIELDS and row["matches_reference"] for row in rows)
    assert {row["rows"] for row in rows} == {13}
    assert rows[0]["result"][0] == {"word": "be", "count": 3}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["in-degree", "--cost", "1"], "keep state by key; remove it for in-degree"),
        (["wordcount", "--cost", "1"], "give --batches 10"),
        (["wordcount", "--batches", "2", "--cost", "-1"], "not a time in milliseconds"),
        (["wordcount", "--batches", "2", "--cost", "1", "--scheme", "pkg"], "cannot emulate work"),
        (["wordcount", "--scheme", "mixed"], "mixed keeps state by key, on a stream"),
    ],
)
def test_what_only_keyed_state_can_do_is_refused_elsewhere(run, words, said):
    pytest.importorskip("pyspark")
    code, _, error = run("run", *words)
    assert code != 0
    assert said in " ".join(error.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["naive-bayes", "--batches", "2", "--period", "2"], "no aggregation period; remove"),
        (["wordcount", "--period", "2"], "needs a stream; give --batches 10"),
        (["wordcount", "--batches", "2", "--period", "0"], "is not at least 1 micro-batch"),
        (
            ["wordcount", "--batches", "2", "--period", "2", "--scheme", "mixed"],
            "mixed sends no partial results",
        ),
    ],
)
def test_only_partial_results_have_an_aggregation_period(run, words, said):
    pytest.importorskip("pyspark")
    code, _, error = run("run", *words)
    assert code != 0
    assert said in " ".join(error.split())


@pytest.mark.spark
def test_an_aggregation_period_is_printed(run, spark, text):
    words = ["run", "wordcount", "--input", str(text), "--workers", "2", "--batches", "2"]
    code, out, _ = run(*words, "--period", "2", "--scheme", "kg")
    assert code == 0
    assert "aggregation periods: 1\n" in out
    assert "messages to the aggregator: 9\n" in out


def test_a_kept_result_has_a_form_in_json():
    pytest.importorskip("pyspark")
    from unskew_lab.apps.running import in_json

    row = {"at": datetime(2026, 1, 1), "n": 3, "price": Decimal("1.50"), "odd": math.nan}
    assert in_json(row) == {"at": "2026-01-01 00:00:00", "n": 3, "price": "1.50", "odd": "nan"}


@pytest.mark.spark
def test_a_stream_adds_columns_for_latency(run, spark, text):
    words = ["run", "wordcount", "--input", str(text), "--workers", "2", "--batches", "2"]
    code, out, _ = run(*words, "--scheme", "pkg")
    assert code == 0
    assert "on 2 workers, 2 batches" in out
    assert "latency" in out
    assert "moved" not in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.spark
def test_settings_of_a_scheme_are_what_runs(run, spark, text):
    words = ["run", "wordcount", "--input", str(text), "--workers", "4", "--json"]
    spread = {}
    for choices in ("1", "4"):
        code, out, _ = run(*words, "--scheme", "pkg", "--set", f"choices={choices}")
        assert code == 0
        (found,) = json.loads(out)
        assert found["scheme"] == "pkg"
        assert found["matches_reference"]
        spread[choices] = found["replicas"]
    assert spread["1"] == 9 < spread["4"]  # as many as there are words
    planned = run(*words, "--scheme", "planned-split", "--set", "table=0", "--set", "sample=1")
    assert json.loads(planned[1])[0]["replicas"] == 9


@pytest.mark.spark
def test_columns_of_other_names(run, spark, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,key\n1,2\n3,2\n1,3\n")
    words = ["run", "in-degree", "--input", str(path), "--scheme", "kg", "--workers", "2"]
    code, out, _ = run(*words, "--column", "target=key")
    assert code == 0
    assert "right" in out
    assert max(map(len, out.splitlines())) <= 80
    code, _, err = run(*words)
    assert code == 2
    assert "--column target=COLUMN" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wordcuont"], "did you mean 'wordcount'?"),
        (["wordcount", "--scheme", "posg"], "posg does not guarantee mergeable"),
        (["wordcount", "--scheme", "kg", "--compare"], "remove --scheme kg"),
        (["wordcount", "--workers", "0"], "workers=0"),
        (["wordcount", "--compare", "--set", "choices=3"], "remove --set"),
        (
            ["wordcount", "--scheme", "pkg", "--set", "choices=9"],
            "choices=9 is not in 1..workers=8",
        ),
        (["wordcount", "--scheme", "pkg", "--set", "estimate=global"], "use estimate='local'"),
        (["wordcount", "--scheme", "cg", "--set", "eager=false"], "here nobody reports"),
        (
            ["wordcount", "--scheme", "cg", "--set", "capacities=1,2"],
            "no setting of cg 'capacities'",
        ),
        (["wordcount", "--scheme", "static-two-choices"], "needs one router shared by all"),
        (["wordcount", "--set", "table=x"], "table='x' cannot be read as a whole number"),
        (["wordcount", "--set", "capacities=1,2"], "must be 8 numbers above 0"),
        (["enrich", "--scheme", "sg", "--set", "window=5"], "sg has no settings"),
        (["self-join", "--scheme", "kg", "--set", "theta=0.1"], "kg has no settings"),
        (["self-join", "--set", "thet=0.1"], "did you mean 'theta'?"),
        (["wordcount", "--input", "nowhere.txt"], "file not found: nowhere.txt"),
        (["enrich", "--batches", "3"], "remove --batches 3"),
        (["wordcount", "--batches", "0"], "--batches 0 is not at least 1"),
        (["self-join", "--scheme", "pkg"], "no scheme 'pkg'"),
        (["self-join", "--column", "price=p"], "There are: at, quantity, stock, trader"),
        (["wordcount", "--column", "text"], "--column 'text' is not NAME=VALUE"),
    ],
)
def test_bad_input_is_told_before_spark_starts(run, words, message):
    code, out, err = run("run", *words)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
