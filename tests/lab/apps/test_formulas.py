"""The memory of partial key grouping, section 4 of its paper, at 5, 10 and 50 workers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.lab.apps.test_heavy_hitters import summaries

from unskew.hashing import hash_keys
from unskew.partitioners import KeyGrouping, PartialKey, Partitioner, ShuffleGrouping
from unskew.workloads import ZipfStream
from unskew_lab.apps import tree_histograms

FEATURES, CLASSES, ROWS = 7, 3, 3_000
COUNTERS = 50
every_scheme = pytest.mark.parametrize("scheme", [KeyGrouping, PartialKey, ShuffleGrouping])
every_size = pytest.mark.parametrize("workers", [5, 10, 50])


def histograms_of(partitioner: Partitioner) -> int:
    """How many histograms the workers make of the messages of one leaf."""
    random = np.random.default_rng(1)
    feature = pa.array(np.tile(np.arange(FEATURES, dtype=np.int32), ROWS))
    messages = pa.record_batch(
        {
            "leaf": pa.array(np.zeros(len(feature), dtype=np.int32)),
            "label": pa.array(np.repeat(np.arange(ROWS) % CLASSES, FEATURES).astype(str).tolist()),
            "feature": feature,
            "value": pa.array(random.normal(size=len(feature))),
        }
    )
    workers = partitioner.router().route(hash_keys(feature))
    build = tree_histograms.histograms(bins=16)
    parts = [messages.filter(pa.array(workers == each)) for each in range(partitioner.workers)]
    made = [next(build([part])) for part in parts if part.num_rows]
    assert sum(sum(map(sum, part["masses"].to_pylist())) for part in made) == FEATURES * ROWS
    return sum(part.num_rows for part in made)


@every_size
@every_scheme
def test_histograms_of_a_decision_tree(scheme, workers):
    made, once = histograms_of(scheme(workers)), FEATURES * CLASSES
    if scheme is PartialKey:
        assert once < made <= 2 * once
    else:
        assert made == once * (1 if scheme is KeyGrouping else workers)


@every_size
@every_scheme
def test_summaries_that_are_merged_for_a_heavy_hitter(scheme, workers):
    drawn = np.concatenate(list(ZipfStream(1.0, 2_000, 20_000).ids()))
    first = summaries([f"k{each}" for each in drawn], scheme(workers), COUNTERS).hitters[0]
    merged = {KeyGrouping: 1, PartialKey: 2, ShuffleGrouping: workers}
    assert (first.key, first.workers) == ("k0", merged[scheme])
    assert first.at_least <= np.sum(drawn == 0) <= first.at_most
