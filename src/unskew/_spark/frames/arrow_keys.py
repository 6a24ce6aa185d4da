"""Keys inside a task: as Python values, and as groups of Arrow rows.

Python values are equal exactly where Spark's groupBy finds the keys equal. Groups of Arrow rows may
be finer than Spark's (it takes -0.0 for 0.0, a collation takes A for a), never coarser: partial
results of one key meet again where Spark merges them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._spark.frames.schemas import in_numbers

Codes = NDArray[np.int64]

_NAN = object()


def key_values(columns: Sequence[pa.ChunkedArray | pa.Array]) -> list[Any]:
    """Each row's key as a processor sees it: a value, or a tuple of several columns' values."""
    lists = [column.to_pylist() for column in columns]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def identities(columns: Sequence[pa.ChunkedArray | pa.Array], values: list[Any]) -> list[Hashable]:
    """Hashable values equal where the keys `values` are equal: NaN is NaN, a struct is a tuple.

    >>> keys = pa.array([float("nan"), 0.0, float("nan"), -0.0, None])
    >>> len(set(identities([keys], key_values([keys]))))
    3
    """
    if all(_is_plain(column.type) for column in columns):
        return values
    return [_identity(value) for value in values]


def _is_plain(kind: pa.DataType) -> bool:
    return not (pa.types.is_floating(kind) or pa.types.is_nested(kind))


def _identity(value: Any) -> Hashable:
    if isinstance(value, float):
        return _NAN if math.isnan(value) else value
    if isinstance(value, dict):
        return tuple(_identity(each) for each in value.values())
    if isinstance(value, list | tuple):
        return tuple(_identity(each) for each in value)
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class KeyGroups:
    """The rows of a table in the order of their groups."""

    rows: pa.RecordBatch
    """All rows, those of a group side by side."""
    starts: Codes
    """Where each group starts; a last one for the end."""

    @classmethod
    def of(cls, rows: pa.Table, keys: Sequence[int]) -> KeyGroups:
        """Group `rows` by the columns at the places `keys`.

        >>> table = pa.table({"k": ["b", None, "b"], "x": [1, 2, 3]})
        >>> groups = KeyGroups.of(table, [0])
        >>> [group["x"].to_pylist() for group in groups.slices()]
        [[1, 3], [2]]
        """
        codes = np.zeros(rows.num_rows, dtype=np.int64)
        for place in keys:
            codes = _joined(codes, _codes(whole(rows.column(place))))
        order = np.argsort(codes, kind="stable")
        ends = np.flatnonzero(np.diff(codes[order])) + 1
        bounds = [np.zeros(min(1, codes.size), np.int64), ends, np.full(1, codes.size)]
        ordered = [each.take(pa.array(order)) for each in map(whole, rows.columns)]
        batch = pa.RecordBatch.from_arrays(ordered, names=rows.column_names)
        return cls(batch, np.concatenate(bounds).astype(np.int64))

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.starts.size - 1

    def slices(self) -> list[pa.RecordBatch]:
        """The rows of each group."""
        lengths = np.diff(self.starts)
        pairs = zip(self.starts.tolist(), lengths.tolist(), strict=False)
        return [self.rows.slice(start, length) for start, length in pairs]

    def keys(self, places: Sequence[int], repeats: Sequence[int] | None = None) -> list[pa.Array]:
        """The key of each group, as often as `repeats` says."""
        heads = self.starts[:-1]
        taken = pa.array(heads if repeats is None else np.repeat(heads, repeats))
        return [self.rows.column(place).take(taken) for place in places]


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one chunk."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _joined(codes: Codes, more: Codes) -> Codes:
    """One number for each pair of numbers."""
    pairs = codes * (int(more.max(initial=0)) + 1) + more
    # Numbered anew they stay below the number of rows, and the product of a further column small.
    numbered: Codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return numbered


def _codes(values: pa.Array) -> Codes:
    """A number for each value, nulls included; different values have different numbers."""
    if pa.types.is_struct(values.type):
        codes: Codes = values.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        for field in values.flatten():
            codes = _joined(codes, _codes(field))
        return codes
    if pa.types.is_nested(values.type) or pa.types.is_interval(values.type):
        values = values.cast(in_numbers(values.type))
        values = pa.array([repr(value) for value in values.to_pylist()])
    encoded = values.dictionary_encode(null_encoding="encode")
    found: Codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
