"""Rows numbered by key: equal numbers just where Spark finds the keys equal.

Values decide, no hash of them: null is null, NaN is NaN, and -0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unskew._spark.frames.arrow_keys import identities
from unskew._spark.frames.schemas import in_numbers

Numbers = NDArray[np.int64]


def numbered(columns: Sequence[pa.ChunkedArray]) -> Numbers:
    """The number of each row's key, from 0 on without gaps.

    >>> words = pa.chunked_array([["b", None], ["b", "a"]])
    >>> signs = pa.chunked_array([[0.0, 1.0, -0.0], [1.0]])
    >>> numbered([words, signs]).tolist()
    [0, 1, 0, 2]
    """
    numbers = _of(columns[0])
    for column in columns[1:]:
        numbers = _paired(numbers, _of(column))
    return numbers


def _of(values: pa.ChunkedArray) -> Numbers:
    kind = values.type
    if pa.types.is_struct(kind):
        numbers: Numbers = values.is_valid().to_numpy().astype(np.int64)
        for field in values.flatten():
            numbers = _paired(numbers, _of(field))
        return numbers
    if pa.types.is_null(kind):
        return np.zeros(len(values), dtype=np.int64)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return _by_value(values)
    if pa.types.is_floating(kind):
        # Some bits of NaN differ, and so does the sign of zero.
        values = pc.if_else(pc.is_nan(values), pa.scalar(np.nan, kind), pc.add(values, 0))
    encoded = values.dictionary_encode(null_encoding="encode")
    chunks = [chunk.indices.to_numpy() for chunk in encoded.chunks]
    return np.concatenate([np.zeros(0, np.int64), *chunks])


def _by_value(values: pa.ChunkedArray) -> Numbers:
    shown = values.cast(in_numbers(values.type))
    seen: dict[Hashable, int] = {}
    found = (seen.setdefault(each, len(seen)) for each in identities([shown], shown.to_pylist()))
    return np.fromiter(found, np.int64, len(values))


def _paired(first: Numbers, second: Numbers) -> Numbers:
    """One number for each pair, in their order."""
    pairs = first * (int(second.max(initial=0)) + 1) + second
    # Without gaps they stay below the number of rows, and products within 64 bits.
    return _of(pa.chunked_array([pairs]))
