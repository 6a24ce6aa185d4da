"""Arrow tables of one worker: rows by key, output, and the bytes of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unskew._spark.frames.arrow_keys import whole
from unskew._spark.frames.schemas import check_names
from unskew._spark.stateful.state_tables import check_nulls, identities, python_keys
from unskew.errors import SchemaError

_NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class KeyedRows:
    """Rows sorted so that those of a key are adjacent, in the order of their event time."""

    table: pa.Table
    starts: NDArray[np.int64]
    """Where each group begins, and where the last one ends."""
    names: list[bytes]
    keys: list[Any]
    hashes: NDArray[np.int64]
    latest: list[int | None]
    """The last event time of each group."""

    @classmethod
    def of(
        cls, rows: pa.Table, key: tuple[str, ...], event_time: str | None, hashes: NDArray[np.int64]
    ) -> KeyedRows:
        """Group by identity: equal hashes do not make equal keys."""
        times = np.full(rows.num_rows, _NO_TIME)
        if event_time is not None:
            times = _micros(rows[event_time])
        names = identities([rows[name] for name in key])
        found: dict[bytes, list[int]] = {}
        for row in np.argsort(times, kind="stable").tolist():
            found.setdefault(names[row], []).append(row)
        order = np.array([row for part in found.values() for row in part], dtype=np.int64)
        starts = np.cumsum([0, *map(len, found.values())])
        firsts, lasts = order[starts[:-1]], order[starts[1:] - 1]
        return cls(
            rows.take(pa.array(order)),
            starts,
            list(found),
            python_keys([rows[name].take(pa.array(firsts)) for name in key]),
            hashes[firsts],
            [None if time == _NO_TIME else time for time in times[lasts].tolist()],
        )

    def __len__(self) -> int:
        return len(self.names)

    def group(self, number: int) -> pa.Table:
        """The rows of one key."""
        start, end = int(self.starts[number]), int(self.starts[number + 1])
        return self.table.slice(start, end - start)


def in_time(rows: pa.Table, event_time: str | None, now: int | None) -> tuple[pa.Table, int]:
    """The rows that are not older than the watermark, and the number of late rows."""
    if event_time is None or now is None or not rows.num_rows:
        return rows, 0
    times = _micros(unpacked(rows)[event_time])
    kept = (times >= now) | (times == _NO_TIME)
    late = int(kept.size - kept.sum())
    return (rows.filter(pa.array(kept)), late) if late else (rows, 0)


def unpacked(rows: pa.Table) -> pa.Table:
    """The user's rows, which travel in one struct so that no name clashes with ours."""
    array = whole(rows["row"])
    return pa.Table.from_arrays(array.flatten(), schema=pa.schema(list(array.type)))


def _micros(times: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers = times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).fill_null(_NO_TIME)
    return numbers.to_numpy()  # type: ignore[no-any-return]


class Outbox:
    """Collects rows of one schema."""

    def __init__(self, kind: pa.StructType) -> None:
        self.kind = kind
        self.schema = pa.schema(list(kind))
        self.names = self.schema.names
        self.tables: list[pa.Table] = []
        self.mappings: list[Mapping[str, Any]] = []

    def add(self, rows: Any) -> None:
        """Take an Arrow table or batch, a pandas frame, a list of mappings, or None."""
        if rows is None:
            return
        if isinstance(rows, list | tuple):
            for row in rows:
                # Mostly they are as they should be: asked for every row.
                if type(row) is not dict or list(row) != self.names:
                    self._check_row(row)
            self.mappings.extend(rows)
            return
        if isinstance(rows, pd.DataFrame):
            check_names(rows.columns, self.schema.names, "the output")
            with self._fitting():
                rows = pa.Table.from_pandas(rows, schema=self.schema, preserve_index=False)
        elif isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        elif not isinstance(rows, pa.Table):
            raise SchemaError(
                f"a processor returned rows as {type(rows).__name__}; return an Arrow table, a "
                "pandas frame, a list of mappings or None"
            )
        check_names(rows.schema.names, self.schema.names, "the output")
        with self._fitting():
            self.tables.append(rows.select(self.schema.names).cast(self.schema))

    def _check_row(self, row: Any) -> None:
        if not isinstance(row, Mapping):
            raise SchemaError(
                f"a processor returned a row of the output as {type(row).__name__}; return "
                f"mappings of {', '.join(self.names)}"
            )
        check_names(row, self.names, "a row of the output")

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise SchemaError(
                f"a processor returned output that is no {self.kind}: {error}; return values of "
                "these types"
            ) from error

    def array(self) -> pa.Array:
        """All rows so far."""
        if self.mappings:
            with self._fitting():
                self.tables.append(pa.Table.from_pylist(self.mappings, schema=self.schema))
            self.mappings = []
        if not self.tables:
            return pa.array([], self.kind)
        table = pa.concat_tables(self.tables).combine_chunks()
        columns = [whole(column) for column in table.columns]
        rows = pa.StructArray.from_arrays(columns, fields=list(self.kind))
        check_nulls(rows, "a row of the output")
        return rows


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
