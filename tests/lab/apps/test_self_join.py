"""Pairs over a window are those of a join of the whole table, however batches are cut."""

from __future__ import annotations

import datetime
import itertools
import os
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import SessionError
from unskew.testing import assert_same_result
from unskew_lab.apps import self_join as app
from unskew_lab.apps.keyed_state import SPARK_JOIN
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.running import Runner

HOUR = 3_600_000_000
trades = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from("ab"), st.booleans()), max_size=30
).map(sorted)


def table_of(rows) -> pa.Table:
    return pa.table(
        {
            "at": pa.array([at * HOUR for at, _, _ in rows], pa.timestamp("us", "UTC")),
            "trader": pa.array([trader for _, trader, _ in rows], pa.string()),
            "buys": pa.array([buys for _, _, buys in rows], pa.bool_()),
        }
    )


@given(rows=trades, cuts=st.lists(st.integers(0, 30), max_size=4), window=st.integers(0, 8))
def test_every_pair_is_found_once(rows, cuts, window):
    processor, state, found = app.Pairs(datetime.timedelta(hours=window)), None, Counter()
    borders = sorted({0, *(cut for cut in cuts if cut < len(rows)), len(rows)})
    for start, end in itertools.pairwise(borders):
        pairs, kept = processor.process("s", table_of(rows[start:end]), state)
        state = {name: list(values) for name, values in kept.items()}
        times = pairs.set_column(2, "bought", pairs["bought"].cast(pa.int64()))
        times = times.set_column(3, "sold", pairs["sold"].cast(pa.int64())).to_pylist()
        found += Counter((p["trader"], p["bought"] // HOUR, p["sold"] // HOUR) for p in times)
        # What is too old for any partner to come is forgotten.
        assert min(state["at"]) >= max(state["at"]) - window * HOUR
    assert found == Counter(
        (trader, bought, sold)
        for bought, trader, buys in rows
        for sold, other, sells in rows
        if buys and not sells and trader == other and abs(bought - sold) <= window
    )


def small(spark):
    """Some stocks with many trades at the same seconds, and one whose hour comes late."""
    rng = np.random.default_rng(1)
    stock = np.minimum(rng.zipf(1.5, 400), 9)
    table = {
        "stock": [f"s{each}" if each < 9 else None for each in stock],
        "at": 1_700_000_000 + np.sort(rng.integers(0, 200, 400)) * 1800,
        "quantity": rng.choice([-5, 5], 400),
    }
    return spark.createDataFrame(pa.table(table))


@pytest.mark.spark
def test_the_stream_gives_the_pairs_of_a_join(spark, tmp_path):
    trades = app.prepared(small(spark))
    replay = Replay.of(trades, 3, tmp_path, "at")
    folder = replay.scratch()
    if os.environ.get("UNSKEW_TEST_MODE") == "connect":
        with pytest.raises(SessionError, match="classic session"):
            app.joined(replay.stream(), folder)
        return
    stream = app.joined(replay.stream(), f"{folder}/checkpoint", "mixed", workers=3)
    stream.start(f"{folder}/pairs", availableNow=True).awaitTermination()
    pairs = spark.read.schema(app.PAIRS).parquet(f"{folder}/pairs").drop("batch")
    plain = app.plain_pairs(trades)
    assert plain.count() > 400
    assert_same_result(pairs, plain)
    assert len(stream.progress) == 3


@pytest.mark.spark
def test_a_run_tells_latency_and_migration(spark, tmp_path):
    runner = Runner(app.APP, small(spark).limit(200), 3, batches=2, folder=tmp_path)
    if os.environ.get("UNSKEW_TEST_MODE") == "connect":
        with pytest.raises(SessionError, match="classic session"):
            runner.run("kg")
        return
    assert runner.run(SPARK_JOIN).matches_reference
    found = runner.run("kg").as_dict()
    assert found["matches_reference"]
    assert found["batches"] == 2
    assert 0 < found["latency"] <= found["latency_max"] <= found["seconds"]
    assert (found["migrated_keys"], found["migrated_bytes"]) == (0, 0)


@pytest.mark.spark
def test_columns_that_a_table_may_lack(spark):
    table = spark.createDataFrame([("s", 0), ("s", 1), ("t", 2), ("t", 3)], "stock string, at int")
    rows = app.prepared(table).collect()
    assert {row["trader"] for row in rows} == {""}
    assert {row["buys"] for row in rows} == {True, False}
    assert (rows[3]["at"] - rows[0]["at"]).total_seconds() == 3
