"""What a task makes of its rows, without Spark: nothing is lost, however they are cut."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.frames.arrow_keys import KeyGroups
from unskew._spark.streaming import partials
from unskew._spark.streaming.partials import Folded

PAIR = pa.struct([("a", pa.int32()), ("b", pa.string())])
KEYS = pa.schema([("k0", pa.float64()), ("k1", PAIR), ("k2", pa.list_(pa.string()))])
REPORT = pa.struct(
    [("worker", pa.int32()), ("rows", pa.int64()), ("keys", pa.int64()), ("seconds", pa.float64())]
)
OUT = pa.schema([*KEYS, ("n", pa.int64()), ("report", REPORT)])

_words = st.none() | st.sampled_from(["", "x"])
_pairs = st.none() | st.fixed_dictionaries({"a": st.none() | st.integers(0, 1), "b": _words})
_numbers = st.none() | st.sampled_from([0.0, 1.5, math.nan])
_lists = st.none() | st.lists(_words, max_size=2)
rows = st.lists(st.tuples(_numbers, _pairs, _lists), min_size=1, max_size=30)


def count(groups):
    return Folded([pa.array([group.num_rows for group in groups], pa.int64())], None)


@given(rows=rows, cut=st.integers(1, 30), flushed=st.integers(1, 40))
def test_every_row_is_in_one_partial_result(rows, cut, flushed):
    names = KEYS.names
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], KEYS)
    table = table.append_column("v0", pa.array(range(len(rows)), pa.int64()))
    before = partials.FLUSHED_ROWS
    partials.FLUSHED_ROWS = flushed
    try:
        task = partials._task(count, 3, ["v"], OUT)
        made = pa.Table.from_batches(list(task(iter(table.to_batches(max_chunksize=cut)))), OUT)
    finally:
        partials.FLUSHED_ROWS = before
    found: Counter[str] = Counter()
    for row in made.to_pylist():
        found[repr([row[name] for name in names])] += row["n"]
    assert found == Counter(repr([row[name] for name in names]) for row in table.to_pylist())
    reports = [each for each in made["report"].to_pylist() if each is not None]
    assert len(reports) == 1
    assert made["report"].to_pylist()[-1] == reports[0]
    assert (reports[0]["rows"], reports[0]["keys"]) == (len(rows), made.num_rows)


@given(rows=rows)
def test_groups_are_never_coarser_than_keys(rows):
    names = KEYS.names
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], KEYS)
    for group in KeyGroups.of(table, [0, 1, 2]).slices():
        assert len({repr(row) for row in group.to_pylist()}) == 1
