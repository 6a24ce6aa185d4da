"""Calls of a user's function for every group of a bundle; results come back as Arrow tables.

A group's rows are slices of the bundle's. Everything that Spark checks of a result is checked of
each result, by Spark's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType
from pyspark.util import fail_on_stopiteration

from unskew._spark.engine.cutting import Places
from unskew._spark.engine.spark_rules import CallForm, GroupKind, WorkerSettings, note_cause

Function = Callable[..., Any]

MOST_ROWS = 10_000
"""Results are passed on once they have this many rows."""


class Side(NamedTuple):
    """What a function sees as one of its groups: rows, and where each group starts in them."""

    rows: pa.Table
    starts: Places
    """A last one is the end."""


class Results(NamedTuple):
    """Rows that a function returned for consecutive groups, and how many for each group."""

    rows: pa.Table
    counts: list[int]


class Collector(Protocol):
    """The results of consecutive groups, on their way to Arrow."""

    @property
    def rows(self) -> int:
        """How many rows they have."""
        ...

    def add(self, result: Any) -> None:
        """Check the result of the next group, and keep it."""
        ...

    def taken(self) -> Results:
        """All results so far; none are kept."""
        ...


class GroupCall(Protocol):
    """What is called for every group."""

    @property
    def form(self) -> CallForm:
        """How it is called."""
        ...

    @property
    def schema(self) -> StructType:
        """The columns that it returns."""
        ...

    @property
    def settings(self) -> WorkerSettings:
        """The settings of the session."""
        ...

    def collector(self) -> Collector:
        """Where the results of `of_bundle` go."""
        ...

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Any]:
        """The result of each group, in their order; `keys` has a row for each group."""
        ...

    def of_stream(
        self, key: Sequence[pa.Array], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.Table]:
        """The results of one group, which comes in batches; `key` has one row."""
        ...


class UserCall(GroupCall, Protocol):
    """A user's function of Arrow or pandas groups, called as Spark calls it."""

    kind: ClassVar[GroupKind]

    @property
    def function(self) -> Function:
        """The function itself."""
        ...


@dataclass(frozen=True, slots=True)
class ArrowCall:
    """A function of Arrow tables, or of iterators of Arrow batches."""

    kind: ClassVar[GroupKind] = "arrow"
    function: Function
    form: CallForm
    schema: StructType
    settings: WorkerSettings

    def collector(self) -> Collector:
        """Tables, checked as Spark does."""
        return TableResults(self._check(pa.Table))

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Any]:
        """The result of each group."""
        call = called(self.function, self.form)
        shown = [pa.Table.from_arrays(each.rows.columns, each.rows.column_names) for each in sides]
        bounds = [each.starts.tolist() for each in sides]
        for group in range(len(bounds[0]) - 1):
            groups = [
                table.slice(at[group], at[group + 1] - at[group])
                for table, at in zip(shown, bounds, strict=True)
            ]
            key = tuple(column[group] for column in keys) if self.form.with_key else ()
            yield call(key, *groups)

    def of_stream(
        self, key: Sequence[pa.Array], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.Table]:
        """The results of one group."""
        from pyspark.worker import verify_return_type

        check = self._check(pa.RecordBatch)
        shown = (pa.RecordBatch.from_arrays(batch.columns, batch.schema.names) for batch in batches)
        returned = called(self.function, self.form)(tuple(column[0] for column in key), shown)
        for batch in verify_return_type(returned, Iterator[pa.RecordBatch]):
            yield pa.Table.from_batches([check(batch)])

    def _check(self, kind: Any) -> Callable[[Any], Any]:
        """Spark's checks of a result; its columns then have the schema's order, names and types."""
        # Loaded by the tasks alone: there it is loaded anyway.
        from pyspark.sql.conversion import ArrowBatchTransformer
        from pyspark.worker import verify_return_type

        large = self.settings.large_types
        wanted = pa.schema(
            list(to_arrow_type(self.schema, timezone="UTC", prefers_large_types=large))
        )
        plain = pa.schema([pa.field(field.name, field.type) for field in wanted])

        def check(result: Any) -> Any:
            verify_return_type(result, kind)
            if result.schema.equals(plain):
                return result
            if not result.num_columns:
                return kind.from_pylist([], schema=plain)
            ordered = ArrowBatchTransformer.enforce_schema(
                result, wanted, arrow_cast=False, reorder_by_name=self.settings.by_name
            )
            return kind.from_arrays(ordered.columns, schema=plain)

        return check


class TableResults:
    """Results that are Arrow tables."""

    def __init__(self, check: Callable[[Any], pa.Table]) -> None:
        self._check = check
        self._tables: list[pa.Table] = []
        self.rows = 0

    def add(self, result: Any) -> None:
        """Check the result of the next group, and keep it."""
        table = self._check(result)
        self._tables.append(table)
        self.rows += table.num_rows

    def taken(self) -> Results:
        """All results so far; none are kept."""
        tables, self._tables, self.rows = self._tables, [], 0
        return Results(pa.concat_tables(tables), [table.num_rows for table in tables])


def called(function: Function, form: CallForm) -> Function:
    """The function as Spark calls it, with the key only if it takes one."""
    safe = fail_on_stopiteration(function)

    def call(key: Any, *groups: Any) -> Any:
        try:
            return safe(key, *groups) if form.with_key else safe(*groups)
        except PySparkRuntimeError as error:  # The cause tells where the iteration stopped.
            note_cause(error)
            raise

    return call
