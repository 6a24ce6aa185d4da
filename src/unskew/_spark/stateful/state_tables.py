"""Keys and their state as Arrow tables, and as the Python values that processors see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from unskew._spark.frames.arrow_keys import key_values
from unskew._spark.frames.prompt_tasks import no_garbage
from unskew._spark.frames.schemas import in_numbers
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.processor import State
from unskew.errors import KeyTypeError, SchemaError

Entry = tuple[Any, int | None, State]
"""A key as a processor sees it, when its timeout ends, and its state."""

Keys = dict[bytes, Entry]
"""The keys of one hash, by identity: usually one, but equal hashes do not make equal keys."""


def identities(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[bytes]:
    """Bytes that are equal exactly where Spark's groupBy finds keys equal, on every machine.

    Points in time are numbers here: Python takes both passes through the hour in which clocks are
    set back for the same, and has no years before 1 and after 9999.

    >>> len(set(identities([pa.array([float("nan"), 0.0, -0.0, None, float("nan")])])))
    3
    """
    lists = [_plain(column) for column in columns]
    return [ascii(key).encode() for key in zip(*lists, strict=True)]


def _plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    values: list[Any] = column.cast(in_numbers(column.type)).to_pylist()
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return [_normal(value) for value in values]
    return values


def _normal(value: Any) -> Any:
    """Without negative zeros, which Spark takes for zero; NaNs all look the same."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, dict):
        return tuple(_normal(each) for each in value.values())
    if isinstance(value, list):
        return [_normal(each) for each in value]
    return value


def python_keys(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[Any]:
    """Each row's key as a processor sees it."""
    try:
        return key_values(columns)
    except (OverflowError, ValueError) as error:
        raise KeyTypeError(
            f"a key is a time that Python cannot show ({error}): processors see keys as Python "
            "values, of the years 1 to 9999; use unix_micros(...) of the column as the key"
        ) from error


@no_garbage()
def table_of(content: Iterable[tuple[int, Keys]], schema: StateSchema) -> pa.Table:
    """A table of all keys of some hashes; hashes without keys leave a tombstone."""
    hashes: list[int] = []
    keys: list[Any] = []
    dues: list[int | None] = []
    states: list[State | None] = []
    for number, held in content:
        for key, due, state in held.values():
            hashes.append(number)
            keys.append(key)
            dues.append(due)
            states.append(state)
        if not held:
            hashes.append(number)
            keys.append(None)
            dues.append(None)
            states.append(None)
    present = [state is not None for state in states]
    columns = [pa.array(hashes, pa.int64()), _keys(keys, present, schema)]
    columns += [pa.array(dues, pa.int64()), _states(states, schema)]
    return pa.Table.from_arrays(columns, schema=schema.stored)


def _states(states: list[State | None], schema: StateSchema) -> pa.Array:
    try:
        found = pa.array(states, schema.stored.field("state").type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise SchemaError(
            f"a processor returned a state that is no {schema.state.simpleString()}: {error}; "
            "return values of these types"
        ) from error
    check_nulls(found, "a state")
    return found


def check_nulls(rows: pa.Array | pa.ChunkedArray, what: str) -> None:
    """Raise if a field is null that the schema says is not: Spark trusts it, and fails later."""
    if all(field.nullable for field in rows.type):
        return
    for part in rows.chunks if isinstance(rows, pa.ChunkedArray) else [rows]:
        there = part.drop_null()
        for field, values in zip(there.type, there.flatten(), strict=True):
            if values.null_count and not field.nullable:
                raise SchemaError(
                    f"a processor returned {what} whose {field.name} is null, and the schema says "
                    "NOT NULL; return a value, or leave NOT NULL out of the schema"
                )


def tombstones(hashes: Iterable[int], schema: StateSchema) -> pa.Table:
    """Rows that say that these hashes have no keys."""
    return table_of(((number, {}) for number in hashes), schema)


def _keys(keys: list[Any], present: list[bool], schema: StateSchema) -> pa.Array:
    kind = schema.stored.field("key").type
    names = schema.key
    if len(names) == 1:
        rows = [{names[0]: key} for key in keys]
    else:
        rows = [
            dict(zip(names, key, strict=True)) if there else {}
            for key, there in zip(keys, present, strict=True)
        ]
    return pa.array(rows, kind)


def contents(rows: pa.RecordBatch, schema: StateSchema) -> Iterator[tuple[int, Keys]]:
    """The keys of every hash in a table that `table_of` made, in its order."""
    parts = _as(rows["key"], schema.shown_key).flatten()
    states = _as(rows["state"], schema.shown_state).to_pylist()
    names, keys = identities(parts), python_keys(parts)
    last: int | None = None
    held: Keys = {}
    each = zip(rows["hash"].to_pylist(), names, keys, rows["due"].to_pylist(), states, strict=True)
    for number, name, key, due, state in each:
        if number != last:
            if last is not None:
                yield last, held
            last, held = number, {}
        if state is not None:
            held[name] = (key, due, state)
    if last is not None:
        yield last, held


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Points in time in the session's zone, as Spark hands them to Python."""
    return column if column.type == kind else column.cast(kind)


def first_due(keys: Mapping[bytes, Entry]) -> int | None:
    """When the first of these keys' timeouts ends."""
    return min((due for _, due, _ in keys.values() if due is not None), default=None)
