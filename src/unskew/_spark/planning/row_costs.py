"""The costs of a map's rows: the costliest by their place in the input, and the sum of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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

SUMS = 16
"""So many sums of costs are made, of neighbouring input partitions: each takes 10 ns for a row."""
COUNTED = 1024
"""In so many input partitions the rows are counted, by which the partitions of a sum share it."""

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
    rests: Seconds
    """Of all other rows together, for each input partition but the last ones without rows."""

    @property
    def partitions(self) -> int:
        """Of the input, as far as they have rows."""
        return self.rests.size

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
        low = np.bincount(self.origins[~high], self.top[~high], self.partitions)
        rests = self.rests + low
        return replace(self, top=self.top[high], places=self.places[high], rests=rests)

    def scaled(self, factor: float) -> RowCosts:
        """The same costs in another unit."""
        top, rests = self.top * factor, self.rests * factor
        return replace(self, total=self.total * factor, top=top, rests=rests)


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


def measured_costs(
    rows: DataFrame, cost: Column, most: int, partitions: int | None = None
) -> RowCosts | None:
    """Read the input once: the `most` costliest rows, and the sums of all by input partition.

    None if the costs do not add up to a positive number. An infinite cost counts as the highest
    finite one, and comes before it. `partitions` of the input, if they are known.
    """
    numbered = rows.select(cost.alias("cost"), F.monotonically_increasing_id().alias("place"))
    homes, sums = _Homes.of(partitions), Observation()
    seen = numbered.select("*", homes.of_origin(_origin()).alias("home")).observe(
        sums, *homes.metrics(F.when(F.col("cost") < float("inf"), F.col("cost")))
    )
    # One stage: every task keeps its costliest rows, and the driver takes the costliest of these.
    ordered = seen.select("cost", "place").orderBy(F.desc("cost"), "place")
    found = ordered.limit(most).collect()
    sums_of = observed(sums, wait=5.0) if found else None
    if not sums_of or not sums_of.get("rows"):
        return None
    highest = sums_of["highest"] or 1.0
    drawn = np.array([row["cost"] for row in found], dtype=np.float64)
    places = np.array([row["place"] for row in found], dtype=np.int64)
    top = np.where(np.isinf(drawn), highest, drawn)
    total = float(homes.sums(sums_of).sum()) + highest * int(sums_of["infinite"])
    if not 0 < total < float("inf"):
        return None
    others = homes.others(sums_of, np.where(np.isinf(drawn), 0.0, drawn), places >> PARTITION_BITS)
    rest = max(total - float(top.sum()), 0.0)
    return RowCosts(int(sums_of["rows"]), total, top, places, rest * others)


def _origin() -> Column:
    return F.shiftright("place", PARTITION_BITS)


class _Homes(NamedTuple):
    """Neighbouring input partitions, the costs of which are added up in one sum."""

    groups: int
    width: int

    @classmethod
    def of(cls, partitions: int | None) -> _Homes:
        """A sum for each partition, or for several where these are many, or nobody tells."""
        if partitions is None:
            return cls(SUMS, 1)
        width = -(-max(partitions, 1) // SUMS)
        return cls(-(-max(partitions, 1) // width), width)

    def metrics(self, cost: Column) -> Iterator[Column]:
        """What is observed; `cost` is null where it is infinite."""
        yield F.count(F.lit(1)).alias("rows")
        yield F.max(cost).alias("highest")
        yield F.count_if(F.col("cost") == float("inf")).alias("infinite")
        yield F.max(_origin()).alias("last")
        # As text: Spark Connect observes plain values.
        yield F.to_json(F.histogram_numeric(_origin(), F.lit(COUNTED))).alias("counts")
        for number in range(self.groups):
            yield F.sum(F.when(F.col("home") == number, cost)).alias(f"sum{number}")

    def of_origin(self, origin: Column) -> Column:
        """The group of a partition."""
        return F.pmod(F.floor(origin / self.width), F.lit(self.groups))

    def sums(self, seen: dict[str, Any]) -> Seconds:
        """The costs of all groups."""
        return np.array([seen[f"sum{n}"] or 0.0 for n in range(self.groups)], dtype=np.float64)

    def others(self, seen: dict[str, Any], top: Seconds, origins: Places) -> Seconds:
        """The shares that partitions have in all costs besides `top`: in a group, by their rows."""
        partitions = int(seen["last"]) + 1
        rows = np.ones(partitions)
        if partitions <= COUNTED:
            counts = {int(each["x"]): each["y"] for each in json.loads(seen["counts"])}
            rows = np.array([counts.get(each, 0.0) for each in range(partitions)])
        group = np.arange(partitions) // self.width % self.groups
        costs = np.maximum(self.sums(seen) - np.bincount(group[origins], top, self.groups), 0.0)
        shared = costs[group] * (rows / np.maximum(np.bincount(group, rows), 1.0)[group])
        # Rounding may leave nothing, and infinite costs are in no sum.
        level: Seconds = shared if shared.sum() > 0 else rows
        shares: Seconds = level / level.sum()
        return shares
