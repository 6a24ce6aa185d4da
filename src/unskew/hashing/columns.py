"""The hash of each row's key, from its Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from unskew.errors import KeyTypeError, ParameterError
from unskew.hashing.folding import fold
from unskew.hashing.ids import SEED
from unskew.hashing.key_types import check_key_type
from unskew.kernels import KeyHashes

Column: TypeAlias = pa.Array | pa.ChunkedArray


def hash_keys(columns: Column | pa.RecordBatch | pa.Table | Sequence[Column]) -> KeyHashes:
    """The hash of each row's key: the bits of Spark's `xxhash64(column, ...)`.

    A key is one Arrow column or several, in order. Keys that Spark's groupBy puts together have
    equal hashes, null being a key like any other: −0.0 is 0.0, all NaNs are one. As in Spark, the
    type counts (INT 1 is not BIGINT 1), and a null among several columns is skipped. Columns that
    Spark cannot hold as they are hash as what it reads from Parquet: unsigned integers as the
    next larger type (64 bits as DECIMAL(20,0)), nanoseconds as microseconds, rounded down.

    Not seen from Arrow: a collation other than UTF8_BINARY (hash `lower(key)` or the like), and
    year-month intervals (give their months as int32, which has the same hash).

    Cost: one pass over the Arrow buffers; arrays of structs take a pass per element of the
        longest array.

    >>> hash_keys(pa.array(["spark", None, "unskew"])).view(np.int64).tolist()
    [-1960931134668248110, 42, -4744128621050850575]
    >>> hash_keys([pa.array(["spark"]), pa.array([1])]).view(np.int64).tolist()
    [341794143646611586]
    """
    keys = _as_columns(columns)
    for key in keys:
        check_key_type(key.type)
    hashes = np.full(len(keys[0]), SEED, dtype=np.uint64)
    for key in keys:
        start = 0
        for chunk in key.chunks if isinstance(key, pa.ChunkedArray) else [key]:
            fold(chunk, None, hashes[start : start + len(chunk)])
            start += len(chunk)
    return hashes


def _as_columns(columns: Column | pa.RecordBatch | pa.Table | Sequence[Column]) -> list[Column]:
    if isinstance(columns, pa.RecordBatch | pa.Table):
        columns = columns.columns
    keys = list(columns) if isinstance(columns, Sequence) else [columns]
    for key in keys:
        if not isinstance(key, Column):
            raise KeyTypeError(
                f"a key column must be an Arrow array, not {type(key).__name__}; "
                "build one with pyarrow.array(values)"
            )
    lengths = [len(key) for key in keys]
    if len(set(lengths)) != 1:
        raise ParameterError(
            f"key columns have {lengths} rows; give at least one column, all of equal length"
        )
    return keys
