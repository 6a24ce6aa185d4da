"""How many bytes each row of an Arrow array takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def row_bytes(array: pa.Array) -> NDArray[np.int64]:
    """The bytes of the values of each row, without headers; a null row takes none.

    >>> row_bytes(pa.array([{"n": 1, "words": ["a", "bcd"]}, None])).tolist()
    [12, 0]
    """
    sizes = _sizes(array)
    if array.null_count:
        sizes = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, sizes)
    return sizes


def _sizes(array: pa.Array) -> NDArray[np.int64]:
    kind = array.type
    if pa.types.is_struct(kind):
        children = [row_bytes(child) for child in array.flatten()]
        return np.asarray(np.sum(children, axis=0), dtype=np.int64)
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list_sizes(array)
    if _has_length(kind):
        lengths = pc.fill_null(pc.binary_length(array), 0)
        return np.asarray(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)
    width = max(1, kind.bit_width // 8) if not pa.types.is_null(kind) else 0
    return np.full(len(array), width, dtype=np.int64)


def _list_sizes(array: pa.Array) -> NDArray[np.int64]:
    # Offsets count from the start of the child arrays, whatever part of them `array` shows.
    if pa.types.is_map(array.type):
        children = row_bytes(array.keys) + row_bytes(array.items)
    else:
        children = row_bytes(array.values)
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(children)])
    offsets = array.offsets.to_numpy()
    return np.asarray(np.diff(ends[offsets]), dtype=np.int64)


def _has_length(kind: pa.DataType) -> bool:
    kinds = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    return any(kind.equals(each) for each in kinds)
