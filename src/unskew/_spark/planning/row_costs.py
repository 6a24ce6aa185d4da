"""The costs of a map's rows: the costliest by their place in the input, and the sum of all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from unskew._spark.frames.keys import column, field_of
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.side_jobs import observed
from unskew.errors import ParameterError, ParameterTypeError

PARTITION_BITS = 33
"""What stands above these bits of Spark's number of a row is the number of its partition."""

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RowCosts:
    """What is known of the costs of rows, in any unit."""

    rows: int
    total: float
    top: Seconds
    """Of the costliest rows, falling."""
    places: Places
    """Spark's number of each of these rows (`monotonically_increasing_id`)."""
    partitions: int
    """Of the input, as far as they have rows."""

    @property
    def rest(self) -> float:
        """Of all rows that are not among the costliest."""
        return max(self.total - float(self.top.sum()), 0.0)

    @property
    def origins(self) -> Places:
        """The input partitions of the costliest rows."""
        origins: Places = self.places >> PARTITION_BITS
        return origins

    def known(self, least: float) -> RowCosts:
        """Only rows above `least` one by one: the many below are level wherever they are."""
        high = self.top > least
        return replace(self, top=self.top[high], places=self.places[high])

    def scaled(self, factor: float) -> RowCosts:
        """The same costs in another unit."""
        return replace(self, total=self.total * factor, top=self.top * factor)


def cost_column(rows: DataFrame, cost: str | Column) -> Column:
    """The cost of each row as DOUBLE: 0 where it is null, NaN or negative."""
    if isinstance(cost, str):
        given = column(field_of(rows, cost).name)
    elif isinstance(cost, Column):
        given = cost
    else:
        raise ParameterTypeError("cost", cost, "the name of a column or a Column")
    kind = rows.select(given).schema[0].dataType
    if not isinstance(kind, NumericType):
        raise ParameterError(
            f"cost is {kind.simpleString()}; give a number for each row, such as F.length('text')"
        )
    number = given.cast("double")
    # Spark takes NaN for greater than any number.
    return F.when((number > 0) & ~F.isnan(number), number).otherwise(F.lit(0.0))


def measured_costs(rows: DataFrame, cost: Column, most: int) -> RowCosts | None:
    """Read the input once: the `most` costliest rows, and the sum of all.

    None if the costs do not add up to a positive number. An infinite cost counts as the highest
    finite one, and comes before it.
    """
    numbered = rows.select(cost.alias("cost"), F.monotonically_increasing_id().alias("place"))
    finite = F.when(F.col("cost") < float("inf"), F.col("cost"))
    sums = Observation()
    seen = numbered.observe(
        sums,
        F.sum(finite).alias("total"),
        F.max(finite).alias("highest"),
        F.count_if(F.col("cost") == float("inf")).alias("infinite"),
        F.count(F.lit(1)).alias("rows"),
        F.max("place").alias("last"),
    )
    # One stage: every task keeps its costliest rows, and the driver takes the costliest of these.
    found = seen.orderBy(F.desc("cost"), "place").limit(most).collect()
    sums_of = observed(sums, wait=5.0) if found else None
    if not sums_of or not sums_of.get("rows"):
        return None
    highest = sums_of["highest"] or 1.0
    drawn = np.array([row["cost"] for row in found], dtype=np.float64)
    top = np.where(np.isinf(drawn), highest, drawn)
    total = float(sums_of["total"] or 0.0) + highest * int(sums_of["infinite"])
    if not 0 < total < float("inf"):
        return None
    places = np.array([row["place"] for row in found], dtype=np.int64)
    partitions = (int(sums_of["last"]) >> PARTITION_BITS) + 1
    return RowCosts(int(sums_of["rows"]), total, top, places, partitions)
