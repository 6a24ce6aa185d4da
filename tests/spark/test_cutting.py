"""Sorted rows are cut where Spark's key changes, however they come in batches."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.engine.bulk import MOST_BYTES
from unskew._spark.engine.bulk import in_batches as passed_on
from unskew._spark.engine.cutting import Limits, bundles, evenly, streamed

NAN = math.nan


def in_batches(rows, sizes):
    at = 0
    for size in sizes:
        yield rows.slice(at, size)
        at += size
    yield rows.slice(at)


groups = st.lists(st.integers(1, 6), max_size=8)
sizes = st.lists(st.integers(0, 5), max_size=12)


@given(lengths=groups, sizes=sizes, most=st.integers(0, 4))
def test_every_group_once_and_whole(lengths, sizes, most):
    keys = np.repeat(np.arange(len(lengths)), lengths)
    rows = pa.record_batch({"k": keys, "v": np.arange(keys.size)})
    expected = [rows.column(1).filter(pa.array(keys == k)).to_pylist() for k in range(len(lengths))]
    cut = []
    for bundle in bundles(in_batches(rows, sizes), [0], Limits(most)):
        for start, end in zip(bundle.starts, bundle.starts[1:], strict=False):
            cut.append(bundle.rows["v"].to_pylist()[start:end])
    assert cut == expected
    batches = [
        [b.column(1).to_pylist() for b in g]
        for g in streamed(in_batches(rows, sizes), [0], Limits(most))
    ]
    assert [list(chain.from_iterable(each)) for each in batches] == expected
    if most:
        assert all(len(b) == most for each in batches for b in each[:-1])


@given(lengths=groups, sizes=sizes, read=st.integers(0, 2))
def test_what_a_function_leaves_unread_belongs_to_its_group(lengths, sizes, read):
    keys = np.repeat(np.arange(len(lengths)), lengths)
    rows = pa.record_batch({"k": keys})
    firsts = []
    for group in streamed(in_batches(rows, sizes), [0], Limits(2)):
        firsts.append(next(group).column(0)[0].as_py())
        for _ in range(read):
            next(group, None)
    assert firsts == list(range(len(lengths)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([None, None, 1, 1, 2], [2, 2, 1], id="null"),
        pytest.param([-0.0, 0.0, -0.0, 1.0], [3, 1], id="zeros"),
        pytest.param([1.0, NAN, -NAN, NAN], [1, 3], id="nan"),
        pytest.param([None, NAN], [1, 1], id="null is not nan"),
        pytest.param([Decimal("1.0"), Decimal("1.0"), Decimal("1.1")], [2, 1], id="decimals"),
        pytest.param(["", "", "a", None], [2, 1, 1], id="text"),
        pytest.param([b"", b"\0", b"\0"], [1, 2], id="binary"),
        pytest.param([None, None], [2], id="only null"),
        pytest.param([[1.0], [1.0], [NAN], [NAN], [None], None], [2, 2, 1, 1], id="arrays"),
        pytest.param([[0.0], [-0.0], []], [2, 1], id="zeros in arrays"),
        pytest.param(
            [{"a": NAN, "b": None}, {"a": NAN, "b": None}, {"a": None, "b": None}, None],
            [2, 1, 1],
            id="structs",
        ),
        pytest.param([{"a": [0.0]}, {"a": [-0.0]}, {"a": None}], [2, 1], id="arrays in structs"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_equality_is_that_of_sparks_sort(values, expected, size):
    rows = pa.record_batch({"k": pa.array(values)})
    batches = (rows.slice(at, size) for at in range(0, len(values), size))
    found = [n for each in bundles(batches, [0]) for n in np.diff(each.starts).tolist()]
    assert found == expected


def test_a_key_of_several_columns_changes_with_any_of_them():
    rows = pa.record_batch({"a": [1, 1, 1, 2], "b": ["x", "x", None, None]})
    (inner, last) = bundles(iter([rows]), [0, 1])
    assert inner.starts.tolist() == [0, 2, 3]
    assert last.rows.num_rows == 1


@given(lengths=sizes, most=st.integers(1, 7))
def test_batches_are_cut_evenly(lengths, most):
    rows = pa.record_batch({"v": np.arange(sum(lengths))})
    found = [
        batch.column(0).to_pylist() for batch in evenly(in_batches(rows, lengths), Limits(most))
    ]
    assert list(chain.from_iterable(found)) == list(range(rows.num_rows))
    assert [len(each) for each in found[:-1]] == [most] * (len(found) - 1)


@given(lengths=st.lists(st.integers(1, 5), max_size=12), most=st.integers(0, 7))
def test_batches_are_joined_up_to_a_size_only(lengths, most):
    rows = pa.record_batch({"v": np.arange(sum(lengths), dtype=np.int64)})
    given = (rows.slice(sum(lengths[:n]), length) for n, length in enumerate(lengths))
    found = list(evenly(given, Limits(most, size=5 * 8)))
    assert [v for batch in found for v in batch.column(0).to_pylist()] == list(range(rows.num_rows))
    assert all(batch.num_rows <= (min(most, 5) if most else 5) for batch in found)


def test_large_results_are_passed_on_however_few_their_rows():
    model = pa.table({"model": pa.array([b"\0" * (MOST_BYTES // 4)])})
    assert [batch.num_rows for batch in passed_on([model] * 9)] == [4, 4, 1]
    small = pa.table({"model": [b"", b""]})
    assert [batch.num_rows for batch in passed_on([small] * 9)] == [18]
