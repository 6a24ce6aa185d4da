"""Two sides, bucket by bucket: Spark's own cogroup by a coarser key, cut into groups in Python.

A bucket has all rows of some keys, of both sides. Spark hands it over column by column, each side
by itself: rows are neither as wide as both sides together, nor wrapped in structs, which Spark
measures after every row. Spark sorts by the number of the bucket alone, and the rows of a bucket
are put in the order of their groups here: a task has one bucket in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_type

from unskew._spark.engine.bulk import renamed
from unskew._spark.engine.calls import GroupCall, Side
from unskew._spark.engine.cutting import Limits, Places, evenly
from unskew._spark.engine.numbering import Numbers, numbered
from unskew._spark.planning.recording import Recorder, Recording

_HASH = -2
"""The place of the hash of the key, if calls are recorded."""
MOST_TAKEN = 1 << 30
"""Tables of more bytes are not put in order as a whole: a string column of Arrow's ends at twice
this."""


@dataclass(frozen=True, slots=True)
class BucketSide:
    """Where a task finds the columns of one side in the rows of a bucket."""

    names: tuple[str, ...]
    """The names under which the function sees the first columns."""
    key: tuple[int, ...]
    """The places of the key, as the function gets it."""
    cut_by: tuple[int, ...]
    """The places of the key in a form that is equal just where Spark's is."""


@dataclass(frozen=True, slots=True)
class BucketTask:
    """A function called for every two groups of a bucket."""

    sides: tuple[BucketSide, BucketSide]
    call: GroupCall

    def __call__(self, *tables: pa.Table, recorder: Recorder | None = None) -> pa.Table:
        """The results of all groups, under names by position; calls are timed by `recorder`."""
        cut_by = _on_top_of_each_other(tables, [side.cut_by for side in self.sides])
        numbers = numbered(cut_by)
        groups = int(numbers.max()) + 1
        ordered = [_Ordered.of(own, groups) for own in np.split(numbers, [tables[0].num_rows])]
        collector = self.call.collector()
        for together in _bundles(tables, ordered, self.call.settings.limits):
            shown = [
                each.cut(rows, together, side.names, self.call.settings.limits)
                for each, rows, side in zip(ordered, tables, self.sides, strict=True)
            ]
            results = self.call.of_bundle(shown, self._keys(tables, ordered, together))
            if recorder is not None:
                heads = _heads(tables, ordered, together, [(_HASH,), (_HASH,)])
                starts = np.sum([side.starts for side in shown], axis=0)
                results = recorder.timed(results, pa.table({"hash": heads[0]}), starts)
            for result in results:
                collector.add(result)
        return self._as_spark_takes_it(collector.taken().rows)

    def _keys(
        self, tables: Sequence[pa.Table], ordered: Sequence[_Ordered], groups: Places
    ) -> list[pa.ChunkedArray]:
        """The key of each group: the left's first row has it, else the right's."""
        if not self.call.form.with_key:
            return []
        return _heads(tables, ordered, groups, [side.key for side in self.sides])

    def nothing(self) -> pa.Table:
        """No results."""
        kinds = [field.type for field in self._wanted]
        return pa.schema([(f"r{place}", kind) for place, kind in enumerate(kinds)]).empty_table()

    def _as_spark_takes_it(self, rows: pa.Table) -> pa.Table:
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(rows.columns, self._wanted, strict=True)
        ]
        names = [f"r{place}" for place in range(len(columns))]
        return pa.Table.from_arrays(columns, names).combine_chunks()

    @property
    def _wanted(self) -> pa.StructType:
        large = self.call.settings.large_types
        return to_arrow_type(self.call.schema, timezone="UTC", prefers_large_types=large)


@dataclass(slots=True)
class RecordedBuckets:
    """The buckets of one task, whose calls are timed and recorded.

    The last two columns of both sides are the hash of the key and the number of the bucket.
    """

    task: BucketTask
    recording: Recording
    end: int
    """A bucket with this number or a higher one has no groups, and stands behind all others."""
    _recorder: Recorder | None = None

    def __call__(self, *tables: pa.Table) -> pa.Table:
        """The results of all groups of a bucket."""
        if self._recorder is None:
            self._recorder = self.recording.start()
        if any(rows.num_rows and rows.column(-1)[0].as_py() >= self.end for rows in tables):
            self._recorder.finish()
            return self.task.nothing()
        return self.task(*tables, recorder=self._recorder)


class _Ordered(NamedTuple):
    """The rows of one side in the order of their groups."""

    order: Places
    starts: Places
    """Where each group starts in `order`, and a last one for the end."""

    @classmethod
    def of(cls, own: Numbers, groups: int) -> _Ordered:
        """By the number of each row's group."""
        counts = np.bincount(own, minlength=groups)
        # Of numbers this short numpy does not compare any.
        short = own.astype(np.uint16) if groups <= 1 << 16 else own
        starts = np.concatenate([[0], np.cumsum(counts)])
        return cls(np.argsort(short, kind="stable"), starts)

    @property
    def counts(self) -> Places:
        found: Places = np.diff(self.starts)
        return found

    def first_rows(self, groups: Places) -> Places:
        """The place of each group's first row; -1 if it has none."""
        if not self.order.size:
            return np.full(groups.size, -1)
        heads = self.order[np.minimum(self.starts[groups], self.order.size - 1)]
        found: Places = np.where(self.counts[groups] > 0, heads, -1)
        return found

    def cut(self, rows: pa.Table, groups: Places, names: tuple[str, ...], limits: Limits) -> Side:
        """The rows of some groups; those of a single one in batches as Spark would send them."""
        shown = renamed(rows.select(range(len(names))), names)
        starts = np.concatenate([[0], np.cumsum(self.counts[groups])])
        if starts[-1] == rows.num_rows and self.starts.size == 2:
            return Side(shown, starts)
        if groups.size == 1:
            order = self.order[self.starts[groups[0]] : self.starts[groups[0] + 1]]
            taken = list(evenly(_taken(shown, order), limits))
            return Side(pa.Table.from_batches(taken, schema=shown.schema), starts)
        is_in = np.zeros(self.starts.size - 1, dtype=np.bool_)
        is_in[groups] = True
        order = self.order[np.repeat(is_in, self.counts)]
        return Side(shown.combine_chunks().take(pa.array(order)), starts)


def _heads(
    tables: Sequence[pa.Table],
    ordered: Sequence[_Ordered],
    groups: Places,
    places: Sequence[tuple[int, ...]],
) -> list[pa.ChunkedArray]:
    """Columns of each group's first row: the left's if it has one, else the right's."""
    left, right = (each.first_rows(groups) for each in ordered)
    heads = pa.array(np.where(left >= 0, left, right + tables[0].num_rows))
    return [each.take(heads) for each in _on_top_of_each_other(tables, places)]


def _taken(rows: pa.Table, order: Places) -> Iterator[pa.RecordBatch]:
    """The rows at rising places, batch by batch."""
    batches = rows.to_batches()
    ends = np.cumsum([0, *(batch.num_rows for batch in batches)])
    for batch, (start, end) in zip(batches, pairwise(ends.tolist()), strict=True):
        first, last = np.searchsorted(order, [start, end])
        if first < last:
            yield batch.take(pa.array(order[first:last] - start))


def _bundles(
    tables: Sequence[pa.Table], ordered: Sequence[_Ordered], limits: Limits
) -> Iterator[Places]:
    """The numbers of groups that are put in order together: all small ones, a large one alone."""
    most = limits.rows if limits.rows > 0 else np.iinfo(np.int64).max
    large: NDArray[np.bool_] = np.max([each.counts for each in ordered], axis=0) > most
    if max(rows.nbytes for rows in tables) > MOST_TAKEN:
        large[:] = True
    small = np.flatnonzero(~large)
    if small.size:
        yield small
    for group in np.flatnonzero(large):
        yield np.array([group])


def _on_top_of_each_other(
    tables: Sequence[pa.Table], places: Sequence[tuple[int, ...]]
) -> list[pa.ChunkedArray]:
    """Columns of the first table, and below each those of the others that belong to it."""
    found = []
    for own in zip(*places, strict=True):
        columns = [rows.column(place) for rows, place in zip(tables, own, strict=True)]
        kind = columns[0].type
        if any(each.type != kind for each in columns):
            kind = _with_nulls(kind)
            columns = [each.cast(kind) for each in columns]
        found.append(pa.chunked_array([part for each in columns for part in each.chunks], kind))
    return found


def _with_nulls(kind: pa.DataType) -> pa.DataType:
    """The type, if everything inside it may be null: the sides' types may differ in that."""
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([pa.field(field.name, _with_nulls(field.type)) for field in fields])
    if pa.types.is_list(kind):
        return pa.list_(_with_nulls(kind.value_type))
    return kind
