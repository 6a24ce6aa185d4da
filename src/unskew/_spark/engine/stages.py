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

from unskew._spark.engine.buckets import BucketSide, BucketTask, RecordedBuckets
from unskew._spark.engine.bulk import GroupTask, OneSide
from unskew._spark.engine.calls import GroupCall
from unskew._spark.engine.folding import FoldTask
from unskew._spark.engine.merging import PartialTask, RestTask, WholeTask
from unskew._spark.engine.state_calls import FoldCall
from unskew._spark.frames.keys import KeyColumns, is_lower_case
from unskew._spark.frames.prompt_tasks import Prompt, be_prompt
from unskew._spark.planning.recording import Recording
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.routing.route import Route
from unskew.partitioners import Partitioner

BUCKETS = 64
"""How many buckets a task of a cogroup has: each is a trip to Python, and has room in memory."""


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
        return cls.around(request, _placed(request, route))

    @classmethod
    def around(cls, request: RoutingRequest, rows: DataFrame) -> Stage:
        """The rows of a request, placed or not."""
        columns = request.rows.columns
        key = tuple(columns.index(name) for name in request.key.column_names)
        # Most types are comparable as they are.
        differing = [
            n for n, field in enumerate(request.key.fields) if is_lower_case(field.dataType)
        ]
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

    def side(self, names: tuple[str, ...]) -> BucketSide:
        """The same for one of two sides."""
        return BucketSide(names, self.key, self.cut_by)

    def mapped(
        self, task: Any, schema: StructType, *then: Column, first: Sequence[Column] = ()
    ) -> DataFrame:
        """The rows of each task, sorted by `first`, the key and `then`, mapped by `task`."""
        by = [F.col(self.rows.columns[place]) for place in self.cut_by]
        return self.rows.sortWithinPartitions(*first, *by, *then).mapInArrow(Prompt(task), schema)


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
    side = stage.one_side(request.columns)
    # Only rows of an aggregate can be folded as they come.
    parts = (
        FoldTask(side, call, recording)
        if isinstance(call, FoldCall)
        else GroupTask(side, call, recording)
    )
    static = route.partitioner.static
    if route.stays:
        task = PartialTask(parts, merge, stage.cut_by, None)
        return _rest_merged(stage, task, route.partitioner if route.merges else None)
    if route.plain or (static is not None and not static.cut.size):
        return stage.mapped(WholeTask(parts, merge), call.schema)
    if static is None:
        marked, cut = stage, None
    else:
        is_cut = request.key.hash.isin(static.cut.view(np.int64).tolist())
        marked, cut = stage.with_column(is_cut, "cut"), len(stage.rows.columns)
    return _rest_merged(marked, PartialTask(parts, merge, stage.cut_by, cut))


def _rest_merged(stage: Stage, task: PartialTask, merging: Partitioner | None = None) -> DataFrame:
    """The partial results that a task passes on, merged behind a shuffle.

    Those of a key go to the worker that `merging` gives it, if all results are partial.
    """
    schema = task.merge.schema
    results = [StructField(f"r{place}", each.dataType) for place, each in enumerate(schema)]
    kinds = [stage.rows.schema[place].dataType for place in stage.cut_by]
    key = [StructField(f"k{place}", kind) for place, kind in enumerate(kinds)]
    number = StructField("number", IntegerType())
    parts = stage.mapped(task, StructType([*results, *key, number]))
    if merging is None:
        placed = parts.repartition(*(F.col(each.name) for each in [*key, number]))
    else:
        placed = Route.of(merging).repartition(parts, KeyColumns(tuple(key)))
    cut_by = tuple(range(len(results), len(results) + len(key)))
    rest = Stage(placed, (), cut_by)
    merge = GroupTask(rest.one_side(tuple(schema.names)), task.merge)
    last = RestTask(merge, cut_by[-1] + 1)
    return rest.mapped(last, schema, first=[F.col("number").asc_nulls_first()])


def cogroup_in_buckets(
    left: RoutingRequest,
    right: RoutingRequest,
    route: Route,
    call: GroupCall,
    place: RecordPlace | None = None,
) -> DataFrame:
    """A function of two groups; what it takes is recorded at `place`."""
    recorded = place is not None
    here = _bucketed(left.by_position(), route, recorded, ended=recorded)
    there = _bucketed(right.by_position(), route, recorded)
    task: Any = BucketTask((here.side(left.columns), there.side(right.columns)), call)
    if place is not None:
        task = RecordedBuckets(task, Recording(place, 0), BUCKETS * route.workers)

    def call_bucket(rows: Any, others: Any) -> Any:
        be_prompt()
        return task(rows, others)

    fields = [
        StructField(f"r{place}", field.dataType, field.nullable, field.metadata)
        for place, field in enumerate(call.schema)
    ]
    grouped = here.rows.groupBy("bucket").cogroup(there.rows.groupBy("bucket"))
    results = grouped.applyInArrow(call_bucket, StructType(fields))
    return results.toDF(*call.schema.names)


def _bucketed(request: RoutingRequest, route: Route, recorded: bool, ended: bool = False) -> Stage:
    """The rows of a request on their workers, with the number of their bucket behind them.

    With the hash of the key before it if calls are recorded.
    """
    stage = Stage.around(request, request.rows)
    if recorded:
        stage = stage.with_column(request.key.hash, "hash")
    elif route.plain and request.given["workers"] is None:
        # Spark places the buckets, in as many tasks as it likes.
        bucket = F.pmod(request.key.hash, F.lit(BUCKETS * request.workers))
        return stage.with_column(bucket.cast("int"), "bucket")
    routed = replace(stage, rows=route.with_worker(stage.rows, request.key, "worker"))
    # Of an id that is too high the remainder is taken, which is the worker.
    low = request.key.hash.bitwiseAND(F.lit(BUCKETS - 1))
    bucket = F.col("worker") + low * F.lit(route.workers)
    rows = routed.with_column(bucket.cast("int"), "bucket").rows.drop("worker")
    rows = _ended(rows, route.workers) if ended else rows
    return replace(stage, rows=rows.repartitionById(route.workers, F.col("bucket")))


def _ended(rows: DataFrame, workers: int) -> DataFrame:
    """With a bucket behind all others of each worker: its task has read all of its rows.

    Spark calls a function for each bucket, and tells it of no end.
    """
    empty = [F.lit(None).cast(field.dataType) for field in rows.schema.fields[:-1]]
    number = F.col("id") + F.lit(BUCKETS * workers)
    ends = rows.sparkSession.range(0, workers, 1, 1).select(*empty, number.cast("int"))
    return rows.unionAll(ends)


def _placed(request: RoutingRequest, route: Route) -> DataFrame:
    if route.stays:
        return request.rows
    if not route.plain:
        return route.repartition(request.rows, request.key)
    if request.given["workers"] is None:
        return request.rows.repartition(*request.key.comparable)
    # Given a number, Spark does not pack costly groups into fewer tasks for being small.
    return request.rows.repartition(request.workers, *request.key.comparable)
