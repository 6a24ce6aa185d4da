from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.partitioners.serialization import from_json
from unskew.rebalancing import ALL

FIELDS = {
    "algorithm",
    "workers",
    "keys",
    "max_over_mean_before",
    "max_over_mean",
    "table_size",
    "migrated_keys",
    "migration_fraction",
    "seconds",
}


@pytest.fixture
def statistics(tmp_path):
    """Forty words, the first much heavier than the last."""
    path = tmp_path / "keys.parquet"
    cost = [1000 // (rank + 1) for rank in range(40)]
    words = [f"word{rank}" for rank in range(40)]
    pq.write_table(pa.table({"key": words, "cost": cost, "memory": cost}), path)
    return path


@pytest.mark.parametrize("algorithm", ALL)
def test_rebalance_prints_the_contract(run, statistics, algorithm):
    words = ["rebalance", str(statistics), "--algorithm", algorithm, "--workers", "4", "--json"]
    code, out, err = run(*words)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert set(document) >= FIELDS
    assert (document["algorithm"], document["keys"]) == (algorithm, 40)
    assert document["max_over_mean"] <= document["max_over_mean_before"]


def test_rebalance_explains_and_writes_the_table(run, statistics, tmp_path):
    out = tmp_path / "table.json"
    code, text, _ = run(
        "rebalance", str(statistics), "--algorithm", "level", "--workers", "4",
        "--set", "theta=0.02", "--base", "ring", "--out", str(out),
    )  # fmt: skip
    assert code == 0
    assert "max/mean" in text
    table = from_json(out.read_text())
    assert (table.scheme, table.workers, table.base.scheme) == ("routing-table", 4, "ring")


def test_a_worker_column_says_where_keys_are(run, tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text("key,cost,memory,worker\na,4,1,0\nb,4,9,0\nc,1,9,0\nd,1,9,0\n")
    words = ["rebalance", str(path), "--algorithm", "level", "--workers", "2", "--json"]
    document = json.loads(run(*words, "--set", "theta=0.3")[1])
    assert document["max_over_mean_before"] == 2.0
    assert document["migrated_keys"] == 1
    assert document["migration_fraction"] == pytest.approx(1 / 28)
    grown = json.loads(run(*words[:-2], "5", "--before", "2", "--json")[1])
    assert grown["workers"] == 5


@pytest.mark.parametrize(
    ("content", "extra", "message"),
    [
        ("key,cost\na,-1\n", [], "cost=-1.0"),
        ("key,cost\na,inf\n", [], "cost=inf"),
        ("key,cost\na,1\na,2\n", [], "two rows"),
        ("key,cost\na,x\n", [], "not numbers"),
        ("key,cost\na,1\nb,\n", [], "null"),
        ("key,weight\na,1\n", [], "no column 'cost'"),
        ("key,cost,worker\na,1,9\n", [], "worker 9"),
        ("key,cost,worker\na,1,x\n", [], "worker is string"),
        ("key,cost\na,1\n", ["--set", "theta=-1"], "theta=-1"),
        ("key,cost\na,1\n", ["--set", "tetha=1"], "no setting of level 'tetha'"),
        ("key,cost\na,1\n", ["--base", "pkg"], "kg or ring"),
        ("key,cost\na,1\n", ["--workers", "0"], "workers=0"),
    ],
)
def test_mistakes_are_one_sentence(run, tmp_path, content, extra, message):
    path = tmp_path / "keys.csv"
    path.write_text(content)
    words = ["rebalance", str(path), "--algorithm", "level", "--workers", "3", *extra]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_an_unknown_algorithm_lists_the_known_ones(run, statistics):
    code, _, err = run("rebalance", str(statistics), "--algorithm", "mixd", "--workers", "3")
    assert code == 2
    assert "did you mean 'mixed'" in err
