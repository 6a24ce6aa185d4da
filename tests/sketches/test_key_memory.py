from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.sketches.key_counts import KeyCounts
from unskew.sketches.key_table import KeyTable, PairSet

hashes = st.integers(0, 2**64 - 1)


@given(st.dictionaries(hashes, st.integers(0, 2**31 - 1), max_size=300), st.lists(hashes))
def test_a_table_is_a_dictionary(entries, others):
    table = KeyTable()
    keys = np.array(list(entries), dtype=np.uint64)
    table.insert(keys, np.array(list(entries.values()), dtype=np.int32))
    asked = np.array([*entries, *others], dtype=np.uint64)
    default = np.full(asked.size, -7, dtype=np.int32)
    expected = [entries.get(int(key), -7) for key in asked]
    assert table.get(asked, default).tolist() == expected
    assert table.size == len(entries)


def test_a_table_grows_without_forgetting():
    table = KeyTable()
    keys = np.random.default_rng(1).integers(0, 2**64, 200_000, dtype=np.uint64)
    values = np.arange(keys.size, dtype=np.int32)
    for part in np.array_split(np.arange(keys.size), 7):
        table.insert(keys[part], values[part])
    np.testing.assert_array_equal(table.get(keys, np.zeros(keys.size, dtype=np.int32)), values)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=200))
def test_pairs_are_counted_once(pairs):
    found = PairSet()
    found.add(
        np.array([key for key, _ in pairs], dtype=np.uint64),
        np.array([worker for _, worker in pairs], dtype=np.int32),
    )
    assert found.size == len(set(pairs))


@given(st.lists(st.lists(st.integers(0, 9), max_size=30), max_size=5))
def test_counts_of_chunks_add_up(chunks):
    counts = KeyCounts.of(np.array(chunk, dtype=np.uint64) for chunk in chunks)
    rows = [key for chunk in chunks for key in chunk]
    expected = sorted((-rows.count(key), key) for key in set(rows))
    assert list(zip((-counts.counts).tolist(), counts.keys.tolist(), strict=True)) == expected


def test_counts_are_values():
    one = KeyCounts(np.array([1, 2], dtype=np.uint64), np.array([5, 9]))
    other = KeyCounts(np.array([2, 1], dtype=np.uint64), np.array([9, 5]))
    assert one == other
    assert hash(one) == hash(other)
    assert one != KeyCounts.none()
    assert one != "something else"


def test_counts_are_not_negative():
    with pytest.raises(ParameterError, match="count of -1 is negative"):
        KeyCounts(np.array([1], dtype=np.uint64), np.array([-1]))
    with pytest.raises(ParameterError, match="of equal length"):
        KeyCounts(np.array([1], dtype=np.uint64), np.array([1, 2]))
