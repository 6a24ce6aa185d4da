"""Statistics from Arrow and from sketches; tables from owners."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from unskew.errors import InputError
from unskew.hashing import hash_keys
from unskew.partitioners import KeyGrouping
from unskew.rebalancing import KeyStatistics
from unskew.rebalancing.current_table import table_of
from unskew.sketches.lossy_counting import SlidingLossyCounting
from unskew.workloads import FluctuatingKeys, ZipfStream


def test_statistics_from_arrow_columns() -> None:
    words = pa.array(["a", "b"])
    table = pa.table({"key": words, "cost": [1, 2], "memory": [3.0, 4.0], "frequency": [5, 6]})
    keys = KeyStatistics.from_arrow(table)
    order = np.argsort(hash_keys(words))
    np.testing.assert_array_equal(keys.cost, np.array([1.0, 2.0])[order])
    np.testing.assert_array_equal(keys.memory, np.array([3.0, 4.0])[order])
    np.testing.assert_array_equal(keys.frequency, np.array([5.0, 6.0])[order])


def test_statistics_from_a_sliding_sketch() -> None:
    sketch = SlidingLossyCounting(epsilon=0.001, window=20_000)
    for chunk in ZipfStream(1.2, keys=5000, messages=50_000).chunks():
        sketch.add(chunk)
    keys = KeyStatistics.from_counts(sketch.frequent(0.01), sketch.rows)
    assert keys.total_cost == sketch.rows
    assert 0 < keys.unlisted < sketch.rows
    assert keys.heaviest > 0.1 * sketch.rows


def test_a_worker_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="worker 2"):
        table_of(np.array([1], dtype=np.uint64), np.array([2]), KeyGrouping(2))


@pytest.mark.parametrize("rate", [0.0, 0.5, 2.0])
def test_a_shift_changes_one_load_by_the_rate_and_keeps_the_shares(rate: float) -> None:
    keys = FluctuatingKeys.zipf(0.85, keys=20_000, seed=3)
    owner = (keys.hashes % np.uint64(6)).astype(np.int32)
    after = keys.shifted(owner, rate)
    np.testing.assert_allclose(np.sort(after.shares), np.sort(keys.shares))
    loads = [np.bincount(owner, weights=each.shares) for each in (keys, after)]
    change = (loads[0] - loads[1]) / loads[1]
    assert change.max() >= rate
    assert change.max() <= 1.2 * rate
    again = keys.shifted(owner, rate)
    np.testing.assert_array_equal(after.shares, again.shares)
