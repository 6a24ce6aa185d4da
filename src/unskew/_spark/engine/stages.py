"""The stages of group functions: rows are placed, sorted by key, and mapped by a task.

Columns travel under names by position: no name of the user's can clash with a helper's, or with
another of the user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from unskew._spark.engine.bulk import GroupTask, OneSide, TwoSides
from unskew._spark.engine.calls import GroupCall
from unskew._spark.engine.merging import PartialTask, RestTask, WholeTask
from unskew._spark.engine.recording import Recording
from unskew._spark.frames.keys import KeyColumns, is_lower_case
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.routing.route import Route


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows on their workers, and where a task finds the key in them."""

    rows: DataFrame
    key: tuple[int, ...]
    """The places of the key, as a function gets it."""
    cut_by: tuple[int, ...]
    """The places of the key in its comparable form."""

    @classmethod
    def of(cls, request: RoutingRequest, route: Route) -> Stage:
        """Place the rows of a request, whose columns are named by position."""
        columns = request.rows.columns
        key = tuple(columns.index(name) for name in request.key.column_names)
        # Most types are comparable as they are.
        differing = [
            n for n, field in enumerate(request.key.fields) if is_lower_case(field.dataType)
        ]
        rows = _placed(request, route)
        rows = rows.select("*", *(request.key.comparable[n].alias(f"b{n}") for n in differing))
        cut_by = list(key)
        for place, number in enumerate(differing, len(columns)):
            cut_by[number] = place
        return cls(rows, key, tuple(cut_by))

    def with_column(self, column: Column, name: str) -> Stage:
        """A further column, behind all others."""
        return replace(self, rows=self.rows.select("*", column.alias(name)))

    def recorded(
        self, request: RoutingRequest, place: RecordPlace | None
    ) -> tuple[Stage, Recording | None]:
        """With the hash of the key behind all others, if a task is to record its calls."""
        if place is None:
            return self, None
        recording = Recording(place, len(self.rows.columns))
        return self.with_column(request.key.hash, "hash"), recording

    def one_side(self, names: tuple[str, ...]) -> OneSide:
        """The first columns as the function's, under these names."""
        return OneSide(names, self.key, self.cut_by)

    def mapped(
        self, task: Any, schema: StructType, *then: Column, first: Sequence[Column] = ()
    ) -> DataFrame:
        """The rows of each task, sorted by `first`, the key and `then`, mapped by `task`."""
        by = [F.col(self.rows.columns[place]) for place in self.cut_by]
        return self.rows.sortWithinPartitions(*first, *by, *then).mapInArrow(task, schema)


def apply_in_bulk(
    request: RoutingRequest, route: Route, call: GroupCall, place: RecordPlace | None = None
) -> DataFrame:
    """A function of whole groups; what it takes is recorded at `place`."""
    request = request.by_position()
    stage, recording = Stage.of(request, route).recorded(request, place)
    return stage.mapped(GroupTask(stage.one_side(request.columns), call, recording), call.schema)


def merge_in_bulk(
    request: RoutingRequest,
    route: Route,
    call: GroupCall,
    merge: GroupCall,
    place: RecordPlace | None = None,
) -> DataFrame:
    """A function of parts of groups, whose results are merged by key."""
    request = request.by_position()
    stage, recording = Stage.of(request, route).recorded(request, place)
    parts = GroupTask(stage.one_side(request.columns), call, recording)
    static = route.partitioner.static
    if route.stays:
        return _rest_merged(stage, PartialTask(parts, merge, stage.cut_by, None))
    if route.plain or (static is not None and not static.cut.size):
        return stage.mapped(WholeTask(parts, merge), call.schema)
    if static is None:
        marked, cut = stage, None
    else:
        is_cut = request.key.hash.isin(static.cut.view(np.int64).tolist())
        marked, cut = stage.with_column(is_cut, "cut"), len(stage.rows.columns)
    return _rest_merged(marked, PartialTask(parts, merge, stage.cut_by, cut))


def _rest_merged(stage: Stage, task: PartialTask) -> DataFrame:
    """The partial results that a task passes on, merged behind a shuffle."""
    schema = task.merge.schema
    results = [StructField(f"r{place}", each.dataType) for place, each in enumerate(schema)]
    kinds = [stage.rows.schema[place].dataType for place in stage.cut_by]
    key = [StructField(f"k{place}", kind) for place, kind in enumerate(kinds)]
    number = StructField("number", IntegerType())
    parts = stage.mapped(task, StructType([*results, *key, number]))
    placed = parts.repartition(*(F.col(each.name) for each in [*key, number]))
    cut_by = tuple(range(len(results), len(results) + len(key)))
    rest = Stage(placed, (), cut_by)
    merge = GroupTask(rest.one_side(tuple(schema.names)), task.merge)
    last = RestTask(merge, cut_by[-1] + 1)
    return rest.mapped(last, schema, first=[F.col("number").asc_nulls_first()])


def cogroup_in_bulk(
    left: RoutingRequest, right: RoutingRequest, route: Route, call: GroupCall
) -> DataFrame:
    """A function of two groups: one frame has the rows of both sides."""
    here, there = left.by_position(), right.by_position()
    rows = _of_side(here, there, is_right=False).unionAll(_of_side(there, here, is_right=True))
    fields = [StructField(f"k{n}", field.dataType) for n, field in enumerate(left.key.fields)]
    both = replace(left, rows=rows, key=KeyColumns(tuple(fields), left.key.names))
    stage = Stage.of(both, route)
    first = len(fields), len(fields) + len(left.columns)
    is_right = first[1] + len(right.columns)
    layout = TwoSides((left.columns, right.columns), first, is_right, stage.key, stage.cut_by)
    return stage.mapped(GroupTask(layout, call), call.schema, F.col("is_right"))


def _of_side(request: RoutingRequest, other: RoutingRequest, is_right: bool) -> DataFrame:
    """The key, the columns of the left and of the right side, and which side it is."""
    key = [column.alias(f"k{place}") for place, column in enumerate(request.key.columns)]
    own = [F.col(name) for name in request.rows.columns[: len(request.columns)]]
    others = other.rows.schema.fields[: len(other.columns)]
    none = [F.lit(None).cast(field.dataType) for field in others]
    columns = [*none, *own] if is_right else [*own, *none]
    named = [column.alias(f"v{place}") for place, column in enumerate(columns)]
    return request.rows.select(*key, *named, F.lit(is_right).alias("is_right"))


def _placed(request: RoutingRequest, route: Route) -> DataFrame:
    if route.stays:
        return request.rows
    if not route.plain:
        return route.repartition(request.rows, request.key)
    if request.given["workers"] is None:
        return request.rows.repartition(*request.key.comparable)
    # Given a number, Spark does not pack costly groups into fewer tasks for being small.
    return request.rows.repartition(request.workers, *request.key.comparable)
