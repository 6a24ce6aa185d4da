"""What is known of a job's input without reading it: rows, partitions, and what reading costs."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    MapType,
    ShortType,
    StringType,
    StructType,
)

from unskew._spark.frames.files import is_connect
from unskew._spark.frames.parquet_files import rows_per_byte
from unskew._spark.frames.physical_plan import is_read_only
from unskew._spark.planning.cost_model import StageCost
from unskew._spark.planning.machine import MORE, Machine, shuffle_partitions
from unskew._spark.planning.statistics import FEW

_SIZES: dict[type[DataType], int] = {
    BooleanType: 1,
    ByteType: 1,
    ShortType: 2,
    StringType: 20,
    BinaryType: 100,
}


_UNKNOWN = 1 << 50
"""Bytes: Spark takes a source that does not tell its size for larger than any."""


class Input(NamedTuple):
    """The rows of a job before it runs."""

    cheap: bool
    """Whether rows can be read again at little cost: they come from files or memory as they are."""
    rows: float | None
    """As files and caches tell, or from sizes; before filters. None if nothing tells."""
    partitions: int | None
    row_bytes: float
    repeats: bool = False
    """Whether reading again surely gives the same rows: files or ranges, nothing left to chance."""

    @classmethod
    def of(cls, rows: DataFrame) -> Input:
        """What Spark's plan tells."""
        width = float(sum(_width(field.dataType) for field in rows.schema))
        cheap = is_read_only(rows)
        if is_connect(rows):
            return cls(cheap, None, None, width)
        query: Any = rows._jdf.queryExecution()
        count = _counted(rows, query, width)
        # A costly input may have to run in part to tell its partitions: stages that are adaptive
        # do, and a cache that is empty runs its whole plan if that has any.
        partitions = int(query.toRdd().getNumPartitions()) if cheap else None
        repeats = (
            cheap
            and query.analyzed().deterministic()
            and "InMemoryRelation" not in query.toString()
        )
        return cls(cheap, count, partitions, width, bool(repeats))

    def beside(self, other: Input) -> Input:
        """The rows of both as one input."""
        rows = None if self.rows is None or other.rows is None else self.rows + other.rows
        tasks = (self.partitions or 0) + (other.partitions or 0)
        width = (self.row_bytes + other.row_bytes) / 2
        return Input(self.cheap and other.cheap, rows, tasks or None, width)

    def tasks_on(self, machine: Machine, most: int) -> int:
        """How many tasks to make of all rows."""
        if self.rows is None:
            return MORE * machine.slots
        return StageCost(machine, self.row_bytes).level_tasks(self.rows, most)

    def few(self, sample: float | None) -> bool:
        """Whether the driver can count the keys of the rows, or of a sample of them."""
        return self.cheap and self.rows is not None and self.rows * (sample or 1.0) <= FEW

    def countable(self, machine: Machine, seconds: float) -> float | None:
        """Which share of the rows a pass for key statistics counts in time; None for all."""
        if self.rows is None or self.partitions is None:
            return None
        return StageCost(machine, self.row_bytes).countable(self.rows, self.partitions, seconds)


def default_workers(rows: DataFrame) -> int:
    """How many workers rows are spread over if nobody says.

    In a batch as many as there are tasks to make of them. What the batches of a stream will bring
    is not known, and Spark Connect tells of slots only by a job.
    """
    session = rows.sparkSession
    partitions = shuffle_partitions(session)
    if rows.isStreaming or is_connect(session):
        return partitions
    return Input.of(rows).tasks_on(Machine.of(session), partitions)


def _counted(rows: DataFrame, query: Any, width: float) -> float | None:
    """The rows of all that is read; those of Parquet files by the footer of one of them."""
    plan = query.optimizedPlan()
    leaves = plan.collectLeaves()
    found = [leaves.apply(place).stats() for place in range(leaves.size())]
    if found and all(each.rowCount().isDefined() for each in found):
        return float(sum(int(str(each.rowCount().get())) for each in found))
    size = float(str(plan.stats().sizeInBytes()))
    if size >= _UNKNOWN:
        return None
    dense = rows_per_byte(rows._jdf.inputFiles())
    if dense is None:
        return size / width
    return dense * sum(float(str(each.sizeInBytes())) for each in found)


def _width(kind: DataType) -> int:
    """The bytes of a value, about."""
    match kind:
        case StructType():
            return sum(_width(field.dataType) for field in kind)
        case ArrayType():
            return 5 * _width(kind.elementType)
        case MapType():
            return 5 * (_width(kind.keyType) + _width(kind.valueType))
    return _SIZES.get(type(kind), 8)
