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
    """Rows to states, batch by batch: a group need not fit into memory."""

    states: States
    places: tuple[int, ...]
    """Where the columns that the aggregates read stand in the rows."""
    schema: StructType
    settings: WorkerSettings

    @property
    def form(self) -> CallForm:
        """With the key, in batches."""
        return CallForm(with_key=True, iterator=True)

    def collector(self) -> Collector:
        """Groups come in batches only."""
        raise NotImplementedError

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Any]:
        """Groups come in batches only."""
        raise NotImplementedError

    def of_stream(
        self, key: Sequence[pa.Array], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.Table]:
        """The state of one group."""
        made = self.states.zero()
        for batch in batches:
            # Without columns, aggregates that count rows still need some column to count.
            rows = batch.select(self.places) if self.places else batch
            made = self.states.add(made, rows)
        state = pa.array([pickle.dumps(made, protocol=5)], pa.binary())
        none = pa.nulls(1, arrow_type(self.states.results))
        yield pa.Table.from_arrays([*key, state, none], names=self.schema.names)


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
        """The key of each group in a table, and its results."""
        (side,) = sides
        key = side.rows.select(range(side.rows.num_columns - 2))
        found = side.rows.column(side.rows.num_columns - 2).to_pylist()
        for at, end in pairwise(side.starts.tolist()):
            yield key.slice(at, 1), self._result(found[at:end])

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
        self._keys: list[pa.Table] = []
        self._results: list[dict[str, object]] = []

    @property
    def rows(self) -> int:
        """One for each key."""
        return len(self._keys)

    def add(self, result: Any) -> None:
        """Keep a key and its results."""
        key, results = result
        self._keys.append(key)
        self._results.append(results)

    def taken(self) -> Results:
        """All keys so far; none are kept."""
        keys = pa.concat_tables(self._keys)
        results = pa.array(self._results, arrow_type(self._schema["results"].dataType))
        self._keys, self._results = [], []
        columns = [*keys.columns, pa.nulls(len(results), pa.binary()), results]
        rows = pa.Table.from_arrays(columns, names=self._schema.names)
        return Results(rows, [1] * len(results))
