"""The rows and the state of a slot, key by key."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._spark.frames.identities import identities, key_values
from unskew._spark.stateful.processor import State

_NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class KeyGroups:
    """Rows of which those of a key stand together, in the order of their event time."""

    table: pa.Table
    starts: NDArray[np.int64]
    """Where each group begins, and where the last one ends."""
    names: list[Hashable]
    keys: list[Any]
    hashes: NDArray[np.int64]
    latest: list[int | None]
    """The last event time of each group."""

    @classmethod
    def of(
        cls, rows: pa.Table, key: tuple[str, ...], event_time: str | None, hashes: NDArray[np.int64]
    ) -> KeyGroups:
        """Group by identity: equal hashes do not make equal keys."""
        times = np.full(rows.num_rows, _NO_TIME)
        if event_time is not None:
            times = _micros(rows[event_time])
        columns = [rows[name] for name in key]
        values = key_values(columns)
        names = identities(columns, values)
        found: dict[Hashable, list[int]] = {}
        for row in np.argsort(times, kind="stable").tolist():
            found.setdefault(names[row], []).append(row)
        order = np.array([row for part in found.values() for row in part], dtype=np.int64)
        starts = np.cumsum([0, *map(len, found.values())])
        firsts, lasts = order[starts[:-1]], order[starts[1:] - 1]
        return cls(
            rows.take(pa.array(order)),
            starts,
            list(found),
            [values[row] for row in firsts],
            hashes[firsts],
            [None if time == _NO_TIME else time for time in times[lasts].tolist()],
        )

    def __len__(self) -> int:
        return len(self.names)

    def group(self, number: int) -> pa.Table:
        """The rows of one key."""
        start, end = int(self.starts[number]), int(self.starts[number + 1])
        return self.table.slice(start, end - start)

    def key_columns(self, key: tuple[str, ...]) -> list[pa.Array]:
        """The key of each group."""
        firsts = pa.array(self.starts[:-1])
        return [whole(self.table[name].take(firsts)) for name in key]


class Known(NamedTuple):
    """The newest version of a key's state, and in which row it came."""

    row: int
    key: Any
    state: State | None
    due: int | None


def newest(states: pa.Table) -> dict[Hashable, Known]:
    """Of each key's versions the highest; the same version may stand in several rows."""
    columns = whole(states["key"]).flatten()
    keys = key_values(columns)
    versions, dues = states["version"].to_pylist(), states["due"].to_pylist()
    rows: dict[Hashable, int] = {}
    for row, name in enumerate(identities(columns, keys)):
        if name not in rows or versions[rows[name]] < versions[row]:
            rows[name] = row
    values = states["state"].take(pa.array(list(rows.values()), pa.int64())).to_pylist()
    return {
        name: Known(row, keys[row], value, dues[row])
        for (name, row), value in zip(rows.items(), values, strict=True)
    }


def in_time(rows: pa.Table, event_time: str | None, now: int | None) -> tuple[pa.Table, int]:
    """The rows that are not older than the watermark, and how many are."""
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


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _micros(times: pa.ChunkedArray) -> NDArray[np.int64]:
    numbers = times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).fill_null(_NO_TIME)
    return numbers.to_numpy()  # type: ignore[no-any-return]
