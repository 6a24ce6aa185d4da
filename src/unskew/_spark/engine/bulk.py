"""Group functions in bulk: one Python stage over rows that Spark sorted by key.

Spark's own verbs hand every group to Python by itself, in a stream of its own. Here a task gets its
rows in Arrow batches of ordinary size, cuts them where the key changes, and calls the function for
each group: rows, types and errors are Spark's, only the trips are fewer.

Columns travel under names of our own, by position, so that no name of the user's can clash with a
helper's or with another of the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa

from unskew._spark.engine.calls import MOST_ROWS, GroupCall, Results, Side
from unskew._spark.engine.cutting import Bundle, bundles, streamed
from unskew._spark.planning.recording import Recording

Batches = Iterator[pa.RecordBatch]

MOST_BYTES = 64 << 20
"""Results of this size are passed on, however few their rows: a group may return a whole model."""


@dataclass(frozen=True, slots=True)
class OneSide:
    """Rows whose first columns are the function's."""

    names: tuple[str, ...]
    """The names under which the function sees them."""
    key: tuple[int, ...]
    """The places of the key, as the function gets it."""
    cut_by: tuple[int, ...]
    """The places of the key in a form that is equal just where Spark's is."""

    def sides(self, bundle: Bundle) -> list[Side]:
        """The rows as they are."""
        rows = bundle.rows.select(range(len(self.names)))
        return [Side(renamed(rows, self.names), bundle.starts)]

    def shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What the function sees of a batch."""
        return renamed(batch.select(range(len(self.names))), self.names)


class Called(NamedTuple):
    """What the function returned for consecutive groups."""

    results: Results
    heads: pa.Table
    """The first row of each group."""


@dataclass(frozen=True, slots=True)
class GroupTask:
    """A function called for every group of a task's rows."""

    layout: OneSide
    call: GroupCall
    record: Recording | None = None
    """Where to write what the calls took; None measures nothing."""

    def __call__(self, batches: Batches) -> Batches:
        """The results alone."""
        if self.call.form.iterator:
            return in_batches(chain.from_iterable(rows for _, rows in self._streamed(batches)))
        return in_batches(each.results.rows for each in self._cut(batches))

    def results(self, batches: Batches) -> Iterator[Called]:
        """The results, with the groups that they are of; all of a group's at once."""
        if not self.call.form.iterator:
            yield from self._cut(batches)
            return
        held: list[Called] = []
        rows = size = 0
        for head, tables in self._streamed(batches):
            found = list(tables)
            if found:
                table = pa.concat_tables(found)
                held.append(Called(Results(table, [table.num_rows]), head))
                rows += table.num_rows
                size += table.get_total_buffer_size()
            if rows >= MOST_ROWS or size >= MOST_BYTES:
                yield _as_one(held)
                held, rows, size = [], 0, 0
        if held:
            yield _as_one(held)

    def _cut(self, batches: Batches) -> Iterator[Called]:
        collector, heads = self.call.collector(), []
        recorder = self.record.start() if self.record else None
        size = 0  # A result may be a slice of its group, and keep all of it in memory.
        for bundle in bundles(batches, self.layout.cut_by, self.call.settings.limits):
            first = bundle.rows.take(pa.array(bundle.starts[:-1]))
            keys = [first.column(place) for place in self.layout.key]
            passed = 0
            results = self.call.of_bundle(self.layout.sides(bundle), keys)
            if recorder:
                results = recorder.timed(results, first, bundle.starts)
            for group, result in enumerate(results, 1):
                collector.add(result)
                if collector.rows >= MOST_ROWS:
                    heads.append(first.slice(passed, group - passed))
                    yield Called(collector.taken(), pa.concat_tables(heads))
                    heads, passed = [], group
            if passed < first.num_rows:
                heads.append(first.slice(passed))
            size += bundle.rows.nbytes
            if heads and size >= MOST_BYTES:
                yield Called(collector.taken(), pa.concat_tables(heads))
                heads, size = [], 0
        if heads:
            yield Called(collector.taken(), pa.concat_tables(heads))
        if recorder:
            recorder.finish()

    def _streamed(self, batches: Batches) -> Iterator[tuple[pa.Table, Iterator[pa.Table]]]:
        """The first row of each group, and its results as they come."""
        layout = self.layout
        recorder = self.record.start() if self.record else None
        for group in streamed(batches, layout.cut_by, self.call.settings.limits):
            first = next(group)
            head = pa.Table.from_batches([first.slice(0, 1)])
            key = [head.column(place) for place in layout.key]
            rows = chain([first], group)

            def called(rows: Batches, key: list[pa.Array] = key) -> Iterator[pa.Table]:
                return self.call.of_stream(key, map(layout.shown, rows))

            yield head, recorder.streamed(called, head, rows) if recorder else called(rows)
        if recorder:
            recorder.finish()


def _as_one(held: list[Called]) -> Called:
    rows = pa.concat_tables([each.results.rows for each in held])
    counts = [each.results.counts[0] for each in held]
    return Called(Results(rows, counts), pa.concat_tables([each.heads for each in held]))


def in_batches(tables: Iterable[pa.Table]) -> Batches:
    """The rows of many tables in few batches."""
    held: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        held.append(table)
        rows += table.num_rows
        size += table.get_total_buffer_size()  # Of whole buffers, also where the rows are a slice.
        if rows >= MOST_ROWS or size >= MOST_BYTES:
            yield from pa.concat_tables(held).combine_chunks().to_batches()
            held, rows, size = [], 0, 0
    if rows:
        yield from pa.concat_tables(held).combine_chunks().to_batches()


def renamed(rows: Any, names: Sequence[str]) -> Any:
    """Columns under other names; what the schema says beside the name stays."""
    fields = [field.with_name(name) for field, name in zip(rows.schema, names, strict=True)]
    return type(rows).from_arrays(rows.columns, schema=pa.schema(fields))
