"""The commands of the laboratory: simulate with queues, compare, reproduce."""

from __future__ import annotations

import json

import pytest

from unskew_lab.papers import PAPERS

SMALL = ["--zipf", "1.2", "--keys", "500", "--messages", "20000", "--workers", "5"]


def test_simulate_with_machines_adds_the_figures_of_time(run):
    words = ["simulate", *SMALL, "--scheme", "cg", "--capacities", "2x4", "--rate", "0.7"]
    code, out, err = run(*words, "--service", "per-key", "--sources", "3", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert {"max_over_mean", "imbalance_average", "messages_per_second"} <= found.keys()
    assert {"latency_p99", "utilisation_spread", "throughput", "queue_max"} <= found.keys()
    assert (found["messages"], found["rate"], found["service"]) == (20000, 0.7, "per-key")


def test_partial_states_are_sent_on(run):
    words = ["simulate", *SMALL, "--rate", "0.8", "--aggregate", "20", "--json"]
    sent = [
        json.loads(run(*words, "--scheme", scheme)[1])["partial_states"] for scheme in ("kg", "sg")
    ]
    assert 0 < sent[0] < sent[1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--capacities", "9x2"], "9 is not in 0..workers=5"),
        (["--rate", "0"], "rate=0.0"),
        (["--service", "never"], "constant, per-key, per-row"),
        (["--aggregate", "5"], "requires the queueing simulation"),
        (["--rate", "0.5", "--set", "source-by=key"], "source-by=key works without queues only"),
    ],
)
def test_wrong_machines_are_one_sentence(run, words, complaint):
    code, out, err = run("simulate", *SMALL, "--scheme", "kg", *words)
    assert (code, out) == (2, "")
    assert complaint in err


@pytest.mark.parametrize("machines", [[], ["--capacities", "1x3"]])
def test_compare_ranks_all_legal_schemes(run, machines):
    code, out, err = run("compare", *SMALL, *machines, "--need", "mergeable", "--json")
    found = json.loads(out)
    schemes = [row["scheme"] for row in found["schemes"]]
    assert (code, err) == (0, "")
    assert {"kg", "pkg", "cg", "porc", "sg", "two-random-choices"} <= set(schemes)
    assert "posg" not in schemes
    assert found["recommendation"]["scheme"] == schemes[0]
    assert found["recommendation"]["why"].startswith(f"Take {schemes[0]}")


def test_compare_prints_a_table_and_a_sentence(run):
    code, out, _ = run("compare", *SMALL, "--need", "whole-key")
    assert code == 0
    assert "max/mean" in out
    assert "Take " in out


def test_compare_knows_the_needs(run):
    code, _, err = run("compare", *SMALL, "--need", "whole")
    assert code == 2
    assert "did you mean 'whole-key'" in err


def test_reproduce_one_figure(run, tmp_path):
    words = ["reproduce", "consistent-grouping", "--figure", "7", "--quick", "--out", str(tmp_path)]
    code, out, err = run(*words, "--json")
    rows = json.loads(out)
    assert (code, err) == (0, "")
    assert all({"figure", "claim", "paper", "ours", "holds"} <= row.keys() for row in rows)
    assert (tmp_path / "figure-7.png").exists()
    assert run(*words)[0] == 0  # again, from the kept cells, as a table


def test_reproduce_refuses_unknown_papers_and_empty_folders(run, tmp_path):
    assert "There are: consistent-grouping" in run("reproduce", "consistent")[2]
    unknown = run("reproduce", "partitioning-functions", "--cluster")[2]
    assert "posg" in unknown
    code, _, err = run("reproduce", next(iter(PAPERS)), "--data", str(tmp_path))
    assert code == 2
    assert "no Parquet files" in err


def test_kafka_is_for_clusters_and_needs_its_jars(run, tmp_path):
    asked = ["reproduce", "posg", "--kafka", str(tmp_path)]
    assert "--kafka is for the figures of --cluster" in run(*asked)[2]
    code, _, err = run(*asked, "--cluster")
    assert code == 2
    assert "no jars in" in err
    assert "tests.kafka.jars" in err
