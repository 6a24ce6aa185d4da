"""Aggregates in Python as group calls: rows become a state, and states of one key the results.

Both return the key, a state and the results, one of the two null, so that a state may travel on or
be finished where it was made.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
from pyspark.sql.types import BinaryType, StructField, StructType

from unskew._spark.engine.aggregate_functions import States
from unskew._spark.engine.calls import Results, Side
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

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Results]:
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

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Results]:
        """The results of all keys."""
        (side,) = sides
        kept = side.rows.select(range(side.rows.num_columns - 2)).take(pa.array(side.starts[:-1]))
        found = side.rows.column(side.rows.num_columns - 2).to_pylist()
        bounds = side.starts.tolist()
        results = pa.array(
            [self._result(found[at:end]) for at, end in pairwise(bounds)],
            arrow_type(self.states.results),
        )
        none = pa.nulls(len(results), pa.binary())
        rows = pa.Table.from_arrays([*kept.columns, none, results], names=self.schema.names)
        yield Results(rows, [1] * len(results))

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
