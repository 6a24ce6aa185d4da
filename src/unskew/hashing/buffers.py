"""The buffers of Arrow arrays as numpy arrays, in the form in which Spark hashes them.

Slices are respected; the places of nulls hold anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray
from pyarrow import types

_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_MILLIS_A_DAY = 86_400_000
_INTERVAL = np.dtype([("months", np.int32), ("days", np.int32), ("nanos", np.int64)])


def fixed_width(array: pa.Array, dtype: DTypeLike) -> NDArray[Any]:
    """The values of an array whose values all have the width of `dtype`."""
    return _view(array.buffers()[1], dtype, array.offset, len(array))


def _view(buffer: pa.Buffer, dtype: DTypeLike, start: int, count: int) -> NDArray[Any]:
    itemsize = np.dtype(dtype).itemsize
    return np.frombuffer(buffer, dtype=dtype, count=count, offset=start * itemsize)


def ints(array: pa.Array) -> NDArray[np.int32]:
    """Integers that fit in four bytes."""
    values = fixed_width(array, array.type.to_pandas_dtype())
    return values.astype(np.int32, copy=False)


def longs(array: pa.Array) -> NDArray[np.int64]:
    """Integers that fit in eight bytes."""
    values = fixed_width(array, array.type.to_pandas_dtype())
    return values.astype(np.int64, copy=False)


def float_bits(array: pa.Array, dtype: DTypeLike, bits: DTypeLike) -> NDArray[Any]:
    """The bits of floating-point numbers, with one zero and one NaN, as Spark groups them."""
    values = fixed_width(array, dtype)
    normal = np.where(np.isnan(values), np.asarray(np.nan, dtype), values)
    normal[values == 0] = 0
    return normal.view(bits)


def days(array: pa.Array) -> NDArray[np.int32]:
    """Days since 1970."""
    if types.is_date64(array.type):
        return (fixed_width(array, np.int64) // _MILLIS_A_DAY).astype(np.int32)
    return fixed_width(array, np.int32)


def micros(array: pa.Array) -> NDArray[np.int64]:
    """Microseconds of timestamps and durations."""
    return _in_unit(fixed_width(array, np.int64), array.type.unit, "us")


def nanos(array: pa.Array) -> NDArray[np.int64]:
    """Nanoseconds since midnight of times."""
    width = np.int32 if types.is_time32(array.type) else np.int64
    return _in_unit(fixed_width(array, width).astype(np.int64), array.type.unit, "ns")


def _in_unit(values: NDArray[np.int64], unit: str, wanted: str) -> NDArray[np.int64]:
    # What overflows here is beyond Spark's calendar, where no hash is right or wrong.
    if _NANOS[unit] > _NANOS[wanted]:
        return values * (_NANOS[unit] // _NANOS[wanted])
    if _NANOS[unit] < _NANOS[wanted]:
        return values // (_NANOS[wanted] // _NANOS[unit])
    return values


def intervals(
    array: pa.Array,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The microseconds, days and months of calendar intervals."""
    parts = fixed_width(array, _INTERVAL)
    micros_ = _in_unit(parts["nanos"], "ns", "us")
    return micros_, np.ascontiguousarray(parts["days"]), np.ascontiguousarray(parts["months"])


def small_decimals(array: pa.Array) -> NDArray[np.int64]:
    """Unscaled values of at most 18 digits, whatever the width they are stored in."""
    if array.type.byte_width == 4:
        return fixed_width(array, np.int32).astype(np.int64)
    return np.ascontiguousarray(_words(array)[:, 0]).view(np.int64)


def large_decimals(array: pa.Array) -> NDArray[np.uint64]:
    """Unscaled values of at most 38 digits, each as a low and a high word."""
    return np.ascontiguousarray(_words(array)[:, :2])


def _words(array: pa.Array) -> NDArray[np.uint64]:
    return fixed_width(array, (np.uint64, (array.type.byte_width // 8,)))


def strings(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Offsets into the bytes, and the bytes."""
    if types.is_fixed_size_binary(array.type):
        positions = np.arange(array.offset, array.offset + len(array) + 1)
        return positions * array.type.byte_width, _bytes(array.buffers()[1])
    large = types.is_large_string(array.type) or types.is_large_binary(array.type)
    _, offsets, data = array.buffers()
    ends = _view(offsets, np.int64 if large else np.int32, array.offset, len(array) + 1)
    return ends.astype(np.int64, copy=False), _bytes(data)


def _bytes(buffer: pa.Buffer | None) -> NDArray[np.uint8]:
    if buffer is None or buffer.size == 0:
        return np.empty(0, dtype=np.uint8)
    return np.frombuffer(buffer, dtype=np.uint8)
