"""What the jobs do to their rows: count them and find the highest value, at a cost.

Functions travel to Spark's workers by value: they name nothing else of this package, which the
workers would have to import.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from unskew import Aggregate
from unskew_lab.benchmarks.regret.jobs import Job

SCHEMA = "key string, n bigint, highest double"
Function = Callable[[Any], Any]


def part_of(job: Job) -> Function:
    """A function of the rows of a group, or of some of them."""
    per_row, per_pair = job.cost, job.seconds_per_pair

    def of_table(rows: pa.Table) -> pa.Table:
        if per_row or per_pair:
            time.sleep(rows.num_rows * per_row + rows.num_rows**2 * per_pair)
        highest = pa.array([pc.max(rows["value"]).as_py()], pa.float64())
        n = pa.array([rows.num_rows], pa.int64())
        return pa.table({"key": rows["key"][:1], "n": n, "highest": highest})

    def of_frame(rows: pd.DataFrame) -> pd.DataFrame:
        if per_row or per_pair:
            time.sleep(len(rows) * per_row + len(rows) ** 2 * per_pair)
        found = {"key": rows["key"].iloc[:1], "n": len(rows), "highest": rows["value"].max()}
        return pd.DataFrame(found)

    return of_table if job.verb == "applyInArrow" else of_frame


def merge_of(job: Job) -> Function:
    """A function of the results of all parts of a group."""

    def of_table(parts: pa.Table) -> pa.Table:
        n = pa.array([pc.sum(parts["n"]).as_py()], pa.int64())
        highest = pa.array([pc.max(parts["highest"]).as_py()], pa.float64())
        return pa.table({"key": parts["key"][:1], "n": n, "highest": highest})

    def of_frame(parts: pd.DataFrame) -> pd.DataFrame:
        found = {"key": parts["key"].iloc[:1], "n": parts["n"].sum()}
        return pd.DataFrame({**found, "highest": parts["highest"].max()})

    return of_table if job.verb == "applyInArrow" else of_frame


def combined_in_place(job: Job) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: the part function on each key of a partition."""
    part, is_arrow = part_of(job), job.verb == "applyInArrow"

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if not held:
            return
        rows = pa.Table.from_batches(held).sort_by("key").combine_chunks()
        ends = pc.run_end_encode(rows["key"].chunk(0)).run_ends.to_pylist()
        groups = [rows.slice(a, b - a) for a, b in pairwise([0, *ends])]
        if is_arrow:
            found = pa.concat_tables([part(group) for group in groups])
        else:
            frames = pd.concat([part(group.to_pandas()) for group in groups])
            found = pa.Table.from_pandas(frames, preserve_index=False)
        yield from found.combine_chunks().to_batches()

    return combine


def each_row(job: Job) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `mapInArrow`: the same rows, at their cost."""
    per_row = job.cost

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(batch.num_rows * per_row)
            yield batch

    return work


def highest_in_pandas(job: Job) -> Function:
    """For Spark's `pandas_udf`: the highest value of a group."""
    per_row = job.cost

    def highest(values: pd.Series) -> float:
        time.sleep(len(values) * per_row)
        return float(values.max())

    highest.__annotations__ = {"values": pd.Series, "return": float}
    return highest


def highest_aggregate(job: Job) -> Aggregate:
    """The same as an aggregate of ours."""
    per_row = job.cost

    class Highest:
        columns = ("value",)

        def result_type(self, types: Any) -> pa.DataType:
            return pa.float64()

        def zero(self) -> Any:
            return None

        def add(self, state: Any, rows: pa.RecordBatch) -> Any:
            time.sleep(rows.num_rows * per_row)
            return self.merge(state, pc.max(rows.column(0)).as_py())

        def merge(self, state: Any, other: Any) -> Any:
            return max((each for each in (state, other) if each is not None), default=None)

        def result(self, state: Any) -> Any:
            return state

    return Highest()
