"""Partial results of groups, merged by key: at once where a key is whole, else behind a shuffle.

Most keys of a planned split are whole. Theirs are merged by the task that made them, and pass the
shuffle as results; only partial results of keys that were cut travel with their key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from unskew._spark.engine.bulk import Batches, Called, GroupTask, in_batches
from unskew._spark.engine.calls import GroupCall, Results, Side

if TYPE_CHECKING:  # Its aggregates load the compiler.
    from unskew._spark.engine.folding import FoldTask


@dataclass(frozen=True, slots=True)
class PartialTask:
    """Results of whole keys, and partial results of keys that have rows elsewhere too.

    Beside the results stand the key, null for whole keys, and a number, null for keys that were
    cut: it spreads the results of whole keys over the tasks behind the shuffle.
    """

    parts: GroupTask | FoldTask
    merge: GroupCall
    kept: tuple[int, ...]
    """The places of the key columns that travel."""
    cut: int | None
    """The place of a column that is true for keys that were cut; None if all may be."""

    def __call__(self, batches: Batches) -> Batches:
        """The rows that a task passes on."""
        context = TaskContext.get()
        task = context.partitionId() if context else 0
        return in_batches(
            table for each in self.parts.results(batches) for table in self._parted(each, task)
        )

    def _parted(self, called: Called, task: int) -> Iterator[pa.Table]:
        counts = np.array(called.results.counts, dtype=np.int64)
        is_cut = self._is_cut(called)
        keys = [called.heads.column(place) for place in self.kept]
        if is_cut.any():
            groups = np.repeat(np.flatnonzero(is_cut), counts[is_cut])
            rows = called.results.rows.filter(pa.array(np.repeat(is_cut, counts)))
            taken = [key.take(pa.array(groups)) for key in keys]
            yield self._table(rows, taken, pa.nulls(groups.size, pa.int32()))
        if not is_cut.all():
            rows = called.results.rows.filter(pa.array(np.repeat(~is_cut, counts)))
            for done in merged(self.merge, Results(rows, counts[~is_cut].tolist())):
                size = done.num_rows
                none = [pa.nulls(size, key.type) for key in keys]
                yield self._table(done, none, pa.array(np.full(size, task, dtype=np.int32)))

    def _is_cut(self, called: Called) -> NDArray[np.bool_]:
        if self.cut is None:
            return np.ones(len(called.results.counts), dtype=np.bool_)
        found: NDArray[np.bool_] = called.heads.column(self.cut).to_numpy()
        return found

    def _table(self, rows: pa.Table, keys: list[pa.Array], number: pa.Array) -> pa.Table:
        columns = [*rows.columns, *keys, number]
        return pa.Table.from_arrays(columns, names=[str(place) for place in range(len(columns))])


@dataclass(frozen=True, slots=True)
class WholeTask:
    """Function and merge in one task, for rows of which no key was cut."""

    parts: GroupTask | FoldTask
    merge: GroupCall

    def __call__(self, batches: Batches) -> Batches:
        """The merged results."""
        return in_batches(
            table
            for each in self.parts.results(batches)
            for table in merged(self.merge, each.results)
        )


@dataclass(frozen=True, slots=True)
class RestTask:
    """The merge of the partial results of keys that were cut; results of whole keys pass."""

    merge: GroupTask
    number: int
    """The place of the column that is null for partial results; these come first."""

    def __call__(self, batches: Batches) -> Batches:
        """The merged results, then those that pass."""
        done: list[pa.RecordBatch] = []

        def partial() -> Batches:
            for batch in batches:
                cut = batch.column(self.number).null_count
                yield batch.slice(0, cut)
                if cut < batch.num_rows:
                    done.append(batch.slice(cut))
                    return

        schema = None
        for merged in self.merge(partial()):
            schema = merged.schema
            yield merged
        layout = self.merge.layout
        for batch in chain(done, batches):
            passing = layout.shown(batch)
            # They come back from Spark with timestamps in the zone of the session.
            yield passing if schema is None else passing.cast(schema)


def merged(merge: GroupCall, parts: Results) -> Iterator[pa.Table]:
    """The merged results of groups whose partial results are all here."""
    counts = np.array([count for count in parts.counts if count], dtype=np.int64)
    if not counts.size:  # A group without partial results never reaches a merge.
        return
    starts = np.concatenate([[0], np.cumsum(counts)])
    if not merge.form.iterator:
        collector = merge.collector()
        for result in merge.of_bundle([Side(parts.rows, starts)], []):
            collector.add(result)
        yield collector.taken().rows
        return
    for start, count in zip(starts.tolist(), counts.tolist(), strict=False):
        yield from merge.of_stream([], iter(parts.rows.slice(start, count).to_batches()))
