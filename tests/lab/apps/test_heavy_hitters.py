"""Bounds hold for the truly heaviest keys, and few replicas make them close."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.hashing import hash_keys
from unskew.partitioners import KeyGrouping, PartialKey, Partitioner, ShuffleGrouping
from unskew.testing import skewed
from unskew.workloads import ZipfStream
from unskew_lab.apps import heavy_hitters as app
from unskew_lab.apps.key_summaries import Summary
from unskew_lab.apps.running import Runner


def summaries(keys: list[str | None], partitioner: Partitioner, counters: int) -> app.Heaviest:
    """The merged summaries of `keys` without Spark: one source, a summary for each worker."""
    column = pa.array(keys, pa.string())
    workers = partitioner.router().route(hash_keys(column))
    parts = []
    for worker in range(partitioner.workers):
        rows = pa.record_batch({"key": column.filter(pa.array(workers == worker))})
        half = rows.num_rows // 2
        [found] = app.summarised(counters)(iter([rows.slice(0, half), rows.slice(half)]))
        parts += [(worker, *list(row.values())[1:]) for row in found.to_pylist()]
    return app.merged(parts, counters, partitioner.max_replicas)


@pytest.mark.parametrize("scheme", [KeyGrouping, PartialKey, ShuffleGrouping])
@settings(max_examples=30)
@given(
    keys=st.lists(st.none() | st.sampled_from("abcdefghij"), max_size=80),
    counters=st.integers(1, 6),
)
def test_every_true_count_is_within_its_bounds(scheme, keys, counters):
    found = summaries(keys, scheme(workers=3), counters)
    bounds = {each.key: each for each in found.hitters}
    for key in {*keys, "never"}:
        if key in bounds:
            assert bounds[key].at_least <= keys.count(key) <= bounds[key].at_most
        else:
            assert keys.count(key) <= found.unseen


def test_two_workers_per_key_know_more_than_ten_with_the_same_memory():
    drawn = np.concatenate(list(ZipfStream(1.0, 5_000, 50_000).ids()))
    keys = [f"k{each}" for each in drawn]
    error = {}
    for partitioner in (PartialKey(workers=10), ShuffleGrouping(workers=10)):
        first = summaries(keys, partitioner, counters=50).hitters[:10]
        error[partitioner.scheme] = sum(each.at_most - each.at_least for each in first)
    assert error["pkg"] < error["sg"] / 3


@pytest.mark.spark
def test_the_heaviest_keys_on_spark(spark):
    rows = skewed(spark, rows=3_000, keys=300, exponent=1.2, nulls=0.05).select("key")
    exact = app.APP.reference(rows)
    for scheme in ("pkg", "sg"):
        answer = app.heavy_hitters(rows, scheme, workers=4, counters=30)
        assert app.within_bounds(answer, exact)
        assert not app.within_bounds(answer, {key: 2 * count for key, count in exact.items()})
        assert answer.rows[0]["key"] == max(exact, key=exact.__getitem__)
        assert answer.loads.sum() == 3_000
        assert answer.replicas <= 4 * 30


@settings(max_examples=50)
@given(
    batches=st.lists(st.lists(st.none() | st.sampled_from("abcdefgh"), max_size=40), max_size=5),
    counters=st.integers(1, 6),
)
def test_summaries_of_batches_merge_within_their_bounds(batches, counters):
    summary = Summary("key", counters)
    state = summary.zero()
    for keys in batches:
        rows = pa.record_batch({"key": pa.array(keys, pa.string())})
        state = summary.merge(state, summary.add(summary.zero(), rows))
    all_keys = [key for keys in batches for key in keys]
    lowest = min((estimate for estimate, _ in state.values()), default=0)
    for key in {*all_keys, "never"}:
        if key in state:
            estimate, error = state[key]
            assert estimate - error <= all_keys.count(key) <= estimate
        else:
            assert all_keys.count(key) <= (lowest if len(state) == counters else 0)


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["pkg", "sg", "planned-split"])
def test_the_heaviest_keys_of_a_stream(spark, tmp_path, scheme):
    rows = skewed(spark, rows=3_000, keys=300, exponent=1.2, nulls=0.05)
    found = Runner(app.APP, rows, workers=4, batches=3, folder=tmp_path).run(scheme)
    assert found.matches_reference
    assert found.batches == 3
    assert found.max_over_mean < 1.3
    workers = {"pkg": [2], "sg": [4], "planned-split": [2, 3, 4]}[scheme]
    assert found.answer.figures["most workers of a key"] in workers
