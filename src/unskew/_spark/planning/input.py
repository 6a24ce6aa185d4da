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
from unskew._spark.frames.physical_plan import is_read_only

_SIZES: dict[type[DataType], int] = {
    BooleanType: 1,
    ByteType: 1,
    ShortType: 2,
    StringType: 20,
    BinaryType: 100,
}


class Input(NamedTuple):
    """The rows of a job before it runs."""

    cheap: bool
    """Whether rows can be read again at little cost: they come from files or memory as they are."""
    rows: float | None
    """Estimated by Spark from sizes of files; None if it does not tell."""
    partitions: int | None
    row_bytes: float

    @classmethod
    def of(cls, rows: DataFrame) -> Input:
        """What Spark's plan tells."""
        width = float(sum(_width(field.dataType) for field in rows.schema))
        cheap = is_read_only(rows)
        if is_connect(rows) or not cheap:
            return cls(cheap, None, None, width)
        query: Any = rows._jdf.queryExecution()
        size = float(str(query.optimizedPlan().stats().sizeInBytes()))
        count = size / width
        return cls(cheap, count, int(query.toRdd().getNumPartitions()), width)


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
