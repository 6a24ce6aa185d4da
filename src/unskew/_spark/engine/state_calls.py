"""Aggregates in Python as group calls: rows become a state, and states of one key the results.

Both return the key, a state and the results, one of the two null, so that a state may travel on or
be finished where it was made.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, StructField, StructType

from unskew._spark.engine.aggregate_functions import States
from unskew._spark.engine.calls import Collector, Results, Side
from unskew._spark.engine.spark_rules import CallForm, WorkerSettings
from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.schemas import arrow_type


def state_schema(key: KeyColumns, states: States) -> StructType:
    """The columns of the key by position, a state, and the results in a struct."""
    fields = [StructField(f"k{place}", each.dataType) for place, each in enumerate(key.fields)]
    return StructType(
        [*fields, StructField("state", BinaryType()), StructField("results", states.results)]
    )


@dataclass(frozen=True, slots=True)
class FoldCall:
    """Rows to a state."""

    states: States
    places: tuple[int, ...]
    """Where the columns that the aggregates read stand in the rows."""
    schema: StructType
    settings: WorkerSettings

    @property
    def form(self) -> CallForm:
        """All rows of a group at once, with the key."""
        return CallForm(with_key=True, iterator=False)

    def read(self, rows: Any) -> Any:
        """What the aggregates see of rows: some column at least, that they can be counted."""
        return rows.select(self.places) if self.places else rows

    def made(self, keys: Sequence[Any], states: list[bytes]) -> Results:
        """A row for each group: its key, its state and no results."""
        none = pa.nulls(len(states), arrow_type(self.states.results))
        columns = [*keys, pa.array(states, pa.binary()), none]
        rows = pa.Table.from_arrays(columns, names=self.schema.names)
        return Results(rows, [1] * len(states))

    def collector(self) -> Collector:
        """Keys with their states."""
        return FoldedKeys(self)

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Any]:
        """The key of each group, and its state."""
        (side,) = sides
        rows = self.read(side.rows)
        for group, (at, end) in enumerate(pairwise(side.starts.tolist())):
            state = self.states.zero()
            for batch in rows.slice(at, end - at).to_batches():
                state = self.states.add(state, batch)
            yield [key.slice(group, 1) for key in keys], pickled(state)

    def of_stream(
        self, key: Sequence[pa.Array], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.Table]:
        """Groups come in bundles, or batch by batch to a `FoldTask`."""
        raise NotImplementedError


def pickled(state: list[Any]) -> bytes:
    """A state as it travels."""
    return pickle.dumps(state, protocol=5)


class FoldedKeys:
    """Keys with their states."""

    def __init__(self, call: FoldCall) -> None:
        self._call = call
        self._keys: list[list[pa.Array]] = []
        self._states: list[bytes] = []

    @property
    def rows(self) -> int:
        """One for each key."""
        return len(self._states)

    def add(self, result: Any) -> None:
        """Keep a key and its state."""
        key, state = result
        self._keys.append(key)
        self._states.append(state)

    def taken(self) -> Results:
        """All keys so far; none are kept."""
        keys = [_one_column(parts) for parts in zip(*self._keys, strict=True)]
        found = self._call.made(keys, self._states)
        self._keys, self._states = [], []
        return found


def _one_column(parts: Sequence[Any]) -> pa.ChunkedArray:
    chunks = [chunk for part in parts for chunk in getattr(part, "chunks", [part])]
    return pa.chunked_array(chunks)


@dataclass(frozen=True, slots=True)
class FinishCall:
    """States of one key to its results."""

    states: States
    schema: StructType
    settings: WorkerSettings

    @property
    def form(self) -> CallForm:
        """All states of a key at once, without the key: it stands beside each."""
        return CallForm(with_key=False, iterator=False)

    def collector(self) -> Collector:
        """Keys with their results."""
        return FinishedKeys(self.schema)

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Any]:
        """The rows with the key, which of them is the first of each group, and its results."""
        (side,) = sides
        key = side.rows.select(range(side.rows.num_columns - 2))
        found = side.rows.column(side.rows.num_columns - 2).to_pylist()
        for at, end in pairwise(side.starts.tolist()):
            yield key, at, self._result(found[at:end])

    def of_stream(
        self, key: Sequence[pa.Array], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.Table]:
        """Keys come in bundles only."""
        raise NotImplementedError

    def _result(self, states: list[bytes]) -> dict[str, object]:
        merged = self.states.zero()
        for state in states:
            merged = self.states.merge(merged, pickle.loads(state))
        return self.states.result(merged)


class FinishedKeys:
    """Keys with their results."""

    def __init__(self, schema: StructType) -> None:
        self._schema = schema
        self._keys: list[tuple[pa.Table, list[int]]] = []
        self._results: list[dict[str, object]] = []

    @property
    def rows(self) -> int:
        """One for each key."""
        return len(self._results)

    def add(self, result: Any) -> None:
        """Keep a key and its results."""
        rows, at, results = result
        if not self._keys or self._keys[-1][0] is not rows:
            self._keys.append((rows, []))
        self._keys[-1][1].append(at)
        self._results.append(results)

    def taken(self) -> Results:
        """All keys so far; none are kept."""
        keys = pa.concat_tables([rows.take(pa.array(places)) for rows, places in self._keys])
        results = pa.array(self._results, arrow_type(self._schema["results"].dataType))
        self._keys, self._results = [], []
        columns = [*keys.columns, pa.nulls(len(results), pa.binary()), results]
        rows = pa.Table.from_arrays(columns, names=self._schema.names)
        return Results(rows, [1] * len(results))
