"""Rows sorted by key, cut into groups where the key changes.

Spark sorts; a change of key is found by comparing neighbours, whole columns at a time, with the
equality of Spark's sort: null is null, NaN is NaN, and -0.0 is 0.0. No hash decides.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unskew._spark.frames.arrow_keys import identities
from unskew._spark.frames.schemas import in_numbers

Places = NDArray[np.int64]


class Limits(NamedTuple):
    """How large a batch of one group may be."""

    rows: int = 0
    """0 or less: as many as the bytes allow."""
    size: int = 2**31 - 1
    """In bytes."""


NO_LIMITS = Limits()


class Bundle(NamedTuple):
    """Rows of complete groups: many in one batch, or a single one that spans batches."""

    rows: pa.Table
    starts: Places
    """Where each group starts, and a last one for the end."""


class Segments(NamedTuple):
    """The groups of one batch, of which the first and the last may span batches."""

    rows: pa.RecordBatch
    starts: Places
    continues: bool
    """Whether the first group began in an earlier batch."""


def bundles(
    batches: Iterator[pa.RecordBatch], key: Sequence[int], limits: Limits = NO_LIMITS
) -> Iterator[Bundle]:
    """The groups of sorted rows, by the columns at the places `key`.

    A group that spans batches comes in chunks within `limits`, as Spark cuts it.

    >>> first, second = pa.record_batch({"k": [1, 1, 2]}), pa.record_batch({"k": [2, 3]})
    >>> [(b.rows["k"].to_pylist(), b.starts.tolist()) for b in bundles(iter([first, second]), [0])]
    [([1, 1], [0, 2]), ([2, 2], [0, 2]), ([3], [0, 1])]
    """
    pending: list[pa.RecordBatch] = []
    for rows, starts, continues in segments(batches, key):
        first, last = 0, int(starts[-2])
        if continues:
            first = int(starts[1])
            pending.append(rows.slice(0, first))
            if first == rows.num_rows:
                continue
        if pending:
            yield _joined(pending, limits)
        if first < last:
            inner = starts[(starts >= first) & (starts <= last)]
            yield Bundle(pa.Table.from_batches([rows.slice(first, last - first)]), inner - first)
        pending = [rows.slice(last)]
    if pending:
        yield _joined(pending, limits)


def segments(batches: Iterator[pa.RecordBatch], key: Sequence[int]) -> Iterator[Segments]:
    """Each batch that has rows, with the starts of its groups and its end."""
    before: list[pa.Array] | None = None
    for rows in batches:
        if not rows.num_rows:
            continue
        columns = [rows.column(place) for place in key]
        inner = np.flatnonzero(_changes(columns)) + 1
        starts = np.concatenate([[0], inner, [rows.num_rows]]).astype(np.int64)
        heads = [column.slice(0, 1) for column in columns]
        continues = (
            before is not None
            and not _changes(
                [pa.concat_arrays(pair) for pair in zip(before, heads, strict=True)]
            ).any()
        )
        yield Segments(rows, starts, continues)
        before = [column.slice(rows.num_rows - 1) for column in columns]


def streamed(
    batches: Iterator[pa.RecordBatch], key: Sequence[int], limits: Limits
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Each group as an iterator of batches, to be read in turn."""
    pieces = _pieces(batches, key)
    following = next(pieces, None)
    while following is not None:
        first, following = following[0], None

        def rest(head: pa.RecordBatch = first) -> Iterator[pa.RecordBatch]:
            nonlocal following
            yield head
            for piece, starts_group in pieces:
                if starts_group:
                    following = piece, True
                    return
                yield piece

        group = evenly(rest(), limits)
        yield group
        for _ in group:  # What the function left unread.
            pass


def _pieces(
    batches: Iterator[pa.RecordBatch], key: Sequence[int]
) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Each group's part of each batch, and whether a group starts with it."""
    for rows, starts, continues in segments(batches, key):
        bounds = starts.tolist()
        for number, (start, end) in enumerate(pairwise(bounds)):
            yield rows.slice(start, end - start), number > 0 or not continues


def evenly(batches: Iterator[pa.RecordBatch], limits: Limits) -> Iterator[pa.RecordBatch]:
    """The same rows in batches as full as the limits allow.

    Batches come from Spark within its limit of bytes: they are joined up to it, never cut by it.
    """
    most = limits.rows if limits.rows > 0 else sys.maxsize
    held: list[pa.RecordBatch] = []
    count = size = 0
    for batch in batches:
        if held and size + batch.nbytes > limits.size:
            yield _one(held)
            held, count, size = [], 0, 0
        while count + batch.num_rows >= most:
            yield _one([*held, batch.slice(0, most - count)])
            batch = batch.slice(most - count)
            held, count, size = [], 0, 0
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
            size += batch.nbytes
    if held:
        yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _joined(batches: list[pa.RecordBatch], limits: Limits) -> Bundle:
    rows = pa.Table.from_batches(list(evenly(iter(batches), limits)))
    return Bundle(rows, np.array([0, rows.num_rows], dtype=np.int64))


def _changes(columns: Sequence[pa.Array]) -> NDArray[np.bool_]:
    """For each row but the first, whether its key differs from the one before."""
    changed = np.zeros(len(columns[0]) - 1, dtype=np.bool_)
    for column in columns:
        changed |= _differs(column)
    return changed


def _differs(values: pa.Array) -> NDArray[np.bool_]:
    kind = values.type
    if pa.types.is_struct(kind):
        valid = _numpy(values.is_valid())
        changed: NDArray[np.bool_] = valid[1:] != valid[:-1]
        for field in values.flatten():
            changed |= _differs(field)
        return changed
    if pa.types.is_null(kind):
        return np.zeros(len(values) - 1, dtype=np.bool_)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return _differs_by_value(values)
    here, before = values.slice(1), values.slice(0, len(values) - 1)
    changed = _numpy(pc.not_equal(here, before).fill_null(False))
    if pa.types.is_floating(kind):
        nan = _numpy(pc.is_nan(values).fill_null(False))
        changed &= ~(nan[1:] & nan[:-1])
    if values.null_count:
        valid = _numpy(values.is_valid())
        changed |= valid[1:] != valid[:-1]
    return changed


def _differs_by_value(values: pa.Array) -> NDArray[np.bool_]:
    shown = values.cast(in_numbers(values.type))
    found = identities([shown], shown.to_pylist())
    pairs = zip(found[1:], found, strict=False)
    return np.fromiter((here != before for here, before in pairs), np.bool_, len(found) - 1)


def _numpy(values: pa.Array) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = values.to_numpy(zero_copy_only=False)
    return found
