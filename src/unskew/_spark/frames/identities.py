"""Keys as Python values that are equal exactly where Spark's groupBy finds the keys equal."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import pyarrow as pa

_NAN = object()


def key_values(columns: Sequence[pa.ChunkedArray | pa.Array]) -> list[Any]:
    """Each row's key as a processor sees it: a value, or a tuple of several columns' values."""
    lists = [column.to_pylist() for column in columns]
    return lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))


def identities(columns: Sequence[pa.ChunkedArray | pa.Array], values: list[Any]) -> list[Hashable]:
    """What tells the keys `values` apart: NaN is NaN, a struct is the tuple of its fields.

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
