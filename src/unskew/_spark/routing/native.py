"""Static routes as Catalyst expressions: a pure function of the key's hash and the row's draw.

Native routes never leave the JVM, are the same when a task runs again, and can be evaluated inside
the shuffle, without a column of their own. The table of a route is looked up inside the expression:
a broadcast join would copy every row to widen it; an array literal is read in place. The keys are
in a perfect hash table: the lowest bits of a hash pick a bucket, the bucket says how far to shift
the hash, and the shifted hash's lowest bits are the slot. (Not the highest bits: they pick the
worker, so that the keys of one worker have them in common.) No two keys share a slot, so that one
comparison tells whether a row's key is in the table.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.utils import is_remote

from unskew.errors import ParameterError
from unskew.partitioners.contract import KeyHashes, WorkerIds
from unskew.partitioners.static import AliasTable, SplitTable, StaticRoutes

_LOW = 0xFFFFFFFF

_Kind = Literal["int", "bigint"]
_KINDS: dict[_Kind, Any] = {"int": np.int32, "bigint": np.int64}

MOST_ENTRIES = 1 << 14
"""Above this a table is looked up in Python: a query plan is no place for megabytes."""


def is_native(routes: StaticRoutes | None) -> bool:
    """Whether `worker_expression` can express the routes: they are static, in a small table."""
    return routes is not None and routes.table.owners.size <= MOST_ENTRIES


def fits_table(keys: KeyHashes) -> bool:
    """Whether a table can tell these keys apart; of hashes it always can."""
    try:
        PerfectTable.of(keys)
    except ParameterError:
        return False
    return True


def worker_expression(routes: StaticRoutes, key_hash: Column, row_hash: Column) -> Column:
    """The worker of a row as INT. `row_hash` only matters to keys that are cut."""
    if routes.arcs is None:
        base = by_hash(key_hash, routes.workers)
    else:
        base = _by_arc(routes.arcs, key_hash)
    owner = _owner_of_part if routes.cut.size else _owner
    return looked_up(
        routes.table.keys,
        key_hash,
        lambda places, slot: owner(routes.table, places, slot, row_hash),
        base,
    )


def by_hash(key_hash: Column, workers: int) -> Column:
    """Key grouping: the upper half of the hash, scaled to the workers."""
    return _scaled(F.shiftrightunsigned(key_hash, 32), F.lit(workers)).cast("int")


def _scaled(upper: Column, limit: Column) -> Column:
    return F.shiftrightunsigned(upper * limit.cast("bigint"), 32)


def _by_arc(owners: WorkerIds, key_hash: Column) -> Column:
    arc = F.shiftrightunsigned(key_hash, 65 - int(owners.size).bit_length()).cast("int")
    return F.get(array_literal(owners, "int"), arc)


def looked_up(
    keys: KeyHashes,
    key_hash: Column,
    found: Callable[[PerfectTable, Column], Column],
    base: Column,
) -> Column:
    """`found(table, slot)` for the rows whose key is one of `keys`, else `base`."""
    if keys.size == 0:
        return base
    table = PerfectTable.of(keys)
    slot = table.slot(key_hash)
    # An empty slot must match no row that looks there: any key that lies elsewhere will do.
    held = table.spread(keys.view(np.int64), 0)
    empty = table.entries < 0
    held[empty] = keys.view(np.int64)[table.entries[~empty][0]]
    hit = F.get(array_literal(held, "bigint"), slot) == key_hash
    return F.when(hit, found(table, slot)).otherwise(base)


def _owner(table: SplitTable, places: PerfectTable, slot: Column, _row_hash: Column) -> Column:
    return F.get(array_literal(places.spread(table.owners, 0), "int"), slot)


def _owner_of_part(
    table: SplitTable, places: PerfectTable, slot: Column, row_hash: Column
) -> Column:
    thresholds, aliases = AliasTable.of(table)
    first = F.get(array_literal(places.spread(table.starts[:-1], 0), "int"), slot)
    parts = F.get(array_literal(places.spread(table.parts, 1), "int"), slot)
    drawn = F.shiftrightunsigned(row_hash, 32) * parts.cast("bigint")
    part = (first + F.shiftrightunsigned(drawn, 32)).cast("int")
    kept = drawn.bitwiseAND(F.lit(_LOW)) < F.get(array_literal(thresholds, "bigint"), part)
    return F.when(kept, F.get(array_literal(table.owners, "int"), part)).otherwise(
        F.get(array_literal(aliases, "int"), part)
    )


def array_literal(values: Sequence[int] | NDArray[Any], kind: _Kind) -> Column:
    """An array of whole numbers as one literal.

    A list of literals would be a plan node each; one string is split and cast when the plan is
    optimised, once. But Spark's driver remembers the text of a thousand plans, and such a text has
    every number several times. So in a classic session it is an array that has no text.
    """
    numbers = np.asarray(values, dtype=_KINDS[kind])
    if is_remote():
        return F.split(F.lit(",".join(map(str, numbers.tolist()))), ",").cast(f"array<{kind}>")
    java = _Java.of(SparkContext._active_spark_context)
    content = _unsafe_array(numbers)
    array = java.array()
    array.pointTo(content, java.offset, len(content))
    return ClassicColumn(java.column(java.literal(array, java.kinds[kind])))


class _Java(NamedTuple):
    """What an array literal takes of Spark: each name on the way to one is a call to the JVM."""

    array: Any
    offset: int
    literal: Any
    column: Any
    kinds: dict[_Kind, Any]

    @classmethod
    @functools.lru_cache(maxsize=1)
    def of(cls, context: Any) -> _Java:
        spark = context._jvm.org.apache.spark
        expressions = spark.sql.catalyst.expressions
        return cls(
            expressions.UnsafeArrayData,
            spark.unsafe.Platform.BYTE_ARRAY_OFFSET,
            expressions.Literal,
            spark.sql.classic.ExpressionUtils.column,
            {kind: spark.sql.types.DataType.fromDDL(f"array<{kind}>") for kind in _KINDS},
        )


def _unsafe_array(numbers: NDArray[Any]) -> bytearray:
    """The bytes of Spark's `UnsafeArrayData`: the length, a bit per null, the numbers, in words."""
    nulls = bytes(8 * ((numbers.size + 63) // 64))
    content = np.int64(numbers.size).tobytes() + nulls + numbers.tobytes()
    return bytearray(content + bytes(-len(content) % 8))


class PerfectTable(NamedTuple):
    """Where each key lies: `shifts` per bucket, `entries` per slot (-1 for an empty one)."""

    shifts: NDArray[np.int64]
    entries: NDArray[np.int64]

    @classmethod
    def of(cls, keys: KeyHashes) -> PerfectTable:
        """Find a shift for each bucket, the fullest first, that puts its keys on free slots."""
        buckets = max(2, 1 << int(keys.size).bit_length())
        slots = 4 * buckets
        homes = (keys & np.uint64(buckets - 1)).astype(np.int64)
        table = cls(np.zeros(buckets, dtype=np.int64), np.full(slots, -1, dtype=np.int64))
        order = np.argsort(homes, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(homes[order])) + 1) if keys.size else []
        for group in sorted(groups, key=len, reverse=True):
            table._settle(int(homes[group[0]]), group, keys[group])
        return table

    def _settle(self, bucket: int, group: NDArray[np.int64], keys: KeyHashes) -> None:
        mask = np.uint64(self.entries.size - 1)
        for shift in range(64 - int(self.entries.size).bit_length()):
            places = ((keys >> np.uint64(shift)) & mask).astype(np.int64)
            if np.unique(places).size == places.size and (self.entries[places] < 0).all():
                self.shifts[bucket] = shift
                self.entries[places] = group
                return
        raise ParameterError(f"{group.size} keys have hashes too alike for one table")

    def slot(self, key_hash: Column) -> Column:
        """The only slot in which the key of `key_hash` can lie."""
        bucket = key_hash.bitwiseAND(F.lit(self.shifts.size - 1)).cast("int")
        shifts = F.get(array_literal(self.shifts, "int"), bucket)
        shifted = F.call_function("shiftrightunsigned", key_hash, shifts)
        return shifted.bitwiseAND(F.lit(self.entries.size - 1)).cast("int")

    def spread(self, values: NDArray[Any], empty: int) -> NDArray[Any]:
        """The values of the entries, slot by slot."""
        padded = np.append(values, np.array([empty], dtype=values.dtype))
        return padded[self.entries]
