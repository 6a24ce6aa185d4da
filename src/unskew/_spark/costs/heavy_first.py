"""Rows on the partitions of a map by cost: heavy rows alone and ahead, the others in chunks.

Rows are told apart by Spark's number of a row, which a task that runs again repeats where it reads
files or kept rows in order. Each row has exactly one place by that number alone, whatever its cost
turns out to be: a cost that changes from one reading to the next can neither lose nor double it.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.planning.map_ways import MapWay, packed
from unskew._spark.planning.row_costs import Places, RowCosts
from unskew._spark.routing.native import PerfectTable, array_literal, looked_up
from unskew.hashing import hash_ids

_STAYS = -1


def heavy_first(rows: DataFrame, costs: RowCosts, way: MapWay) -> DataFrame:
    """The rows on the partitions of `way`; `rows` are read in the same order each time."""
    place, task = helper_name("place", rows), helper_name("task", rows)
    numbered = rows.withColumn(place, F.monotonically_increasing_id())
    if way.chunks:
        chunks, _ = packed(costs.top[way.heavy :], costs.rest, way.chunks)
        tasks = np.append(np.arange(way.heavy), way.heavy + chunks)
        sent = numbered.withColumn(task, _looked_up(place, costs.places, tasks, _dealt(place, way)))
        return sent.repartitionById(way.tasks, F.col(task)).drop(place, task)
    ahead = _looked_up(place, costs.places[: way.heavy], np.arange(way.heavy), F.lit(_STAYS))
    marked = numbered.withColumn(task, ahead)
    alone = marked.filter(F.col(task) != _STAYS).repartitionById(way.heavy, F.col(task))
    return alone.union(marked.filter(F.col(task) == _STAYS)).drop(place, task)


def _looked_up(place: str, places: Places, tasks: Places, other: Column) -> Column:
    """The task of each of `places`, INT; `other` for all other rows."""

    def found(table: PerfectTable, slot: Column) -> Column:
        return F.get(array_literal(table.spread(tasks, 0), "int"), slot)

    return looked_up(hash_ids(places), F.xxhash64(F.col(place)), found, other.cast("int"))


def _dealt(place: str, way: MapWay) -> Column:
    """Round robin over the chunks, in rounds that each start elsewhere: no rhythm of the rows
    meets one of the chunks."""
    number, count = F.col(place), F.lit(way.chunks)
    start = F.xxhash64(F.shiftright(number, int(way.chunks).bit_length()))
    return F.lit(way.heavy) + F.pmod(number + F.pmod(start, count), count)
