"""Running hashes of rows, continued with the values of one Arrow array after another.

What a value is to Spark decides how it is hashed: four bytes, eight bytes, or a string of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from unskew.hashing import buffers
from unskew.kernels import KeyHashes
from unskew.kernels.xxhash import Present, Rows, hash_intervals, hash_ints, hash_longs
from unskew.kernels.xxhash_bytes import hash_decimals, hash_strings

Fold = Callable[[pa.Array, Rows, KeyHashes], None]

MAX_LONG_DIGITS = 18
"""Up to here Spark keeps a decimal in a long."""


def fold(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    """Continue `hashes` with the values of `array`; value i continues hash `rows[i]`, or hash i.

    Nulls change nothing. The type must have passed `check_key_type`.
    """
    with_type = fold_of(array.type)
    if with_type is not None and array.null_count < len(array):
        with_type(array, rows, hashes)


def fold_of(kind: pa.DataType) -> Fold | None:
    """How values of this type are hashed; None if they cannot be."""
    return next((with_type for is_of, with_type in _FOLDS if is_of(kind)), None)


def _as_ints(read: Callable[[pa.Array], NDArray[np.int32]]) -> Fold:
    return lambda array, rows, hashes: hash_ints(read(array), _present(array), rows, hashes)


def _as_longs(read: Callable[[pa.Array], NDArray[np.int64]]) -> Fold:
    return lambda array, rows, hashes: hash_longs(read(array), _present(array), rows, hashes)


def _after(decode: Callable[[pa.Array], pa.Array]) -> Fold:
    return lambda array, rows, hashes: fold(decode(array), rows, hashes)


def _present(array: pa.Array) -> Present:
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def _fold_nothing(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    """All values are null."""


def _fold_strings(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    offsets, data = buffers.strings(array)
    hash_strings(offsets, data, _present(array), rows, hashes)


def _fold_decimals(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    if array.type.precision <= MAX_LONG_DIGITS:
        hash_longs(buffers.small_decimals(array), _present(array), rows, hashes)
    else:
        hash_decimals(buffers.large_decimals(array), _present(array), rows, hashes)


def _fold_unsigned_longs(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    """Spark reads them as DECIMAL(20,0)."""
    values = buffers.fixed_width(array, np.uint64)
    words = np.stack([values, np.zeros_like(values)], axis=1)
    hash_decimals(words, _present(array), rows, hashes)


def _fold_intervals(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    micros, days, months = buffers.intervals(array)
    hash_intervals(micros, days, months, _present(array), rows, hashes)


def _fold_structs(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    # `flatten` makes the fields of a null struct null, except where a field is stored as runs.
    for i, field in enumerate(array.flatten()):
        if types.is_run_end_encoded(field.type):
            field = pc.if_else(array.is_valid(), pc.run_end_decode(array.field(i)), None)
        fold(field, rows, hashes)


def _fold_lists(array: pa.Array, rows: Rows, hashes: KeyHashes) -> None:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy().astype(np.int64)
    elements = array.flatten()  # Skips what lies below null lists.
    if _holds_struct(array.type.value_type):
        _fold_by_turns(elements, lengths, hashes)
    else:
        own = np.arange(len(array)) if rows is None else rows
        fold(elements, np.repeat(own, lengths), hashes)


def _holds_struct(kind: pa.DataType) -> bool:
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind) or _is_list(kind):
        return _holds_struct(kind.value_type)
    return bool(types.is_struct(kind))


def _fold_by_turns(elements: pa.Array, lengths: NDArray[np.int64], hashes: KeyHashes) -> None:
    """First the first element of every list, then every second one, and so on.

    Structs are folded field by field, so no two elements of a list may be in one pass. Lists that
    lie around a list of structs take turns as well, so here list i always continues hash i.
    """
    nexts = np.cumsum(lengths) - lengths
    lists = np.flatnonzero(lengths)
    turn = 0
    while lists.size:
        part = hashes[lists]
        fold(elements.take(pa.array(nexts[lists] + turn)), None, part)
        hashes[lists] = part
        turn += 1
        lists = lists[lengths[lists] > turn]


def _is_list(kind: pa.DataType) -> bool:
    return any(
        is_of(kind)
        for is_of in (
            types.is_list,
            types.is_large_list,
            types.is_fixed_size_list,
            types.is_list_view,
            types.is_large_list_view,
        )
    )


_FOLDS: tuple[tuple[Callable[[pa.DataType], bool], Fold], ...] = (
    (types.is_int64, _as_longs(buffers.longs)),
    (types.is_string, _fold_strings),
    (types.is_large_string, _fold_strings),
    (types.is_binary, _fold_strings),
    (types.is_large_binary, _fold_strings),
    (types.is_fixed_size_binary, _fold_strings),
    (types.is_string_view, _after(lambda array: array.cast(pa.large_string()))),
    (types.is_binary_view, _after(lambda array: array.cast(pa.large_binary()))),
    (types.is_boolean, _after(lambda array: array.cast(pa.int8()))),
    (types.is_signed_integer, _as_ints(buffers.ints)),
    (types.is_uint8, _as_ints(buffers.ints)),
    (types.is_uint16, _as_ints(buffers.ints)),
    (types.is_uint32, _as_longs(buffers.longs)),
    (types.is_uint64, _fold_unsigned_longs),
    (types.is_float32, _as_ints(lambda array: buffers.float_bits(array, np.float32, np.int32))),
    (types.is_float64, _as_longs(lambda array: buffers.float_bits(array, np.float64, np.int64))),
    (types.is_decimal, _fold_decimals),
    (types.is_date, _as_ints(buffers.days)),
    (types.is_timestamp, _as_longs(buffers.micros)),
    (types.is_duration, _as_longs(buffers.micros)),
    (types.is_time, _as_longs(buffers.nanos)),
    (types.is_interval, _fold_intervals),
    (types.is_dictionary, _after(lambda array: array.dictionary_decode())),
    (types.is_run_end_encoded, _after(pc.run_end_decode)),
    (types.is_null, _fold_nothing),
    (types.is_struct, _fold_structs),
    (_is_list, _fold_lists),
)
