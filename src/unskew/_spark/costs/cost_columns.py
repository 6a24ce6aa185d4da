"""What a row takes by the record of earlier runs, as an expression over its key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.number_curve import OFTEN, NumberCurve
from unskew._spark.planning.number_keys import numbers_of
from unskew._spark.planning.row_costs import Places
from unskew._spark.planning.work_record import Hashes, WorkRecord
from unskew._spark.routing.native import PerfectTable, array_literal, looked_up
from unskew.hashing import hash_keys

MOST_KEYS = 1024
"""Keys whose rows have an expected cost of their own: the costliest."""

_MICROSECOND = 1e-6


def cost_by_key(record: WorkRecord, key_hash: Column) -> Column:
    """The expected seconds of a row: of its key if that is costly, else of all other keys."""
    costly = _costliest(record, np.arange(record.keys.size))
    return _of_keys(
        record, costly, record.keys[costly], key_hash, F.lit(_of_others(record, costly))
    )


def cost_by_number(record: WorkRecord, number: Column) -> Column:
    """The same of a key that is a number, DOUBLE and not null, whose neighbours may tell.

    Where a curve tells what values take that were seldom timed or never, only those that were
    timed often go by their own times.
    """
    curve = NumberCurve.of(record)
    # Whoever can write into a memory could write two keys of one value.
    _, places = np.unique(numbers_of(record.keys), return_index=True)
    if curve is not None:
        places = places[record.key_calls[places] >= OFTEN]
    costly = _costliest(record, places)
    other = F.lit(_of_others(record, costly))
    if curve is not None:
        other = F.when(F.isnan(number), other).otherwise(on_curve(curve, number))
    hashes = hash_keys(pa.array(numbers_of(record.keys[costly]), pa.float64()))
    return _of_keys(record, costly, hashes, F.xxhash64(number), other)


def on_curve(curve: NumberCurve, number: Column) -> Column:
    """The same as `curve.at`: a search by halves, so that a row meets few of the points."""
    x, y = curve.values, curve.seconds

    def between(low: int, high: int) -> Column:
        if high > low + 1:
            middle = (low + high) // 2
            left, right = between(low, middle), between(middle, high)
            return F.when(number < float(x[middle]), left).otherwise(right)
        slope = float((y[high] - y[low]) / (x[high] - x[low]))
        return F.lit(float(y[low])) + (number - float(x[low])) * slope

    lowest, highest = F.lit(float(y[0])), F.lit(float(y[-1]))
    if curve.grows:
        highest = number * float(y[-1] / x[-1])
    inside = between(0, x.size - 1) if x.size > 1 else lowest
    within = F.when(number <= float(x[0]), lowest).otherwise(inside)
    return F.when(number >= float(x[-1]), highest).otherwise(within)


def _costliest(record: WorkRecord, places: Places) -> Places:
    """Of the keys at these places those whose rows take longest."""
    found: Places = places[np.argsort(-_each(record)[places], kind="stable")[:MOST_KEYS]]
    return found


def _each(record: WorkRecord) -> Seconds:
    each: Seconds = record.key_seconds / np.maximum(record.key_rows, 1)
    return each


def _of_others(record: WorkRecord, costly: Places) -> float:
    seconds = record.seconds - float(record.key_seconds[costly].sum())
    rows = record.rows - int(record.key_rows[costly].sum())
    return max(seconds, 0.0) / max(rows, 1)


def _of_keys(
    record: WorkRecord, costly: Places, hashes: Hashes, key_hash: Column, other: Column
) -> Column:
    def found(table: PerfectTable, slot: Column) -> Column:
        whole = np.ceil(_each(record)[costly] / _MICROSECOND).astype(np.int64)
        number = F.get(array_literal(table.spread(whole, 0), "bigint"), slot)
        return number.cast("double") * F.lit(_MICROSECOND)

    return looked_up(hashes, key_hash, found, other)
