"""Which types can be a key, and what to use instead of those that cannot."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import types

from unskew.errors import KeyTypeError
from unskew.hashing.folding import fold_of

MAX_DIGITS = 38
"""Spark's longest decimal."""


def check_key_type(kind: pa.DataType) -> None:
    """Raise unless Spark can group by and hash this type."""
    if types.is_decimal(kind):
        _check_decimal(kind)
    if _is_variant(kind) or fold_of(kind) is None:
        raise KeyTypeError(f"a key of type {kind} cannot be hashed by Spark; {_way_out(kind)}")
    for part in _parts(kind):
        check_key_type(part)


def _check_decimal(kind: pa.DataType) -> None:
    if not 0 <= kind.scale <= kind.precision <= MAX_DIGITS:
        raise KeyTypeError(
            f"a key of type {kind} is not a decimal of Spark, which has at most {MAX_DIGITS} "
            "digits and a scale of 0..digits; cast it to one of them, or to string"
        )


def _is_variant(kind: pa.DataType) -> bool:
    """Spark sends a variant as a struct of two binaries and names it in the second's metadata."""
    return types.is_struct(kind) and any("variant" in _marks(field) for field in kind)


def _marks(field: pa.Field) -> set[str]:
    return {mark.decode() for mark in field.metadata or {}}


def _parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    if types.is_dictionary(kind):
        yield kind.value_type
    for i in range(kind.num_fields):
        yield kind.field(i).type


def _way_out(kind: pa.DataType) -> str:
    if types.is_map(kind):
        return "use its sorted entries as the key: array_sort(map_entries(key))"
    if types.is_float16(kind):
        return "cast it to float32"
    if _is_variant(kind):
        return "cast it to a type, or to string: to_json(key)"
    if isinstance(kind, pa.BaseExtensionType):
        return f"use its storage, {kind.storage_type}, as the key"
    return "cast it to string, or pick a field of it"
