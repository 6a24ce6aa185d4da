"""Schemes as Catalyst expressions: a pure function of the key's hash (and of the row's draw).

Native routes never leave the JVM, are the same when a task runs again, and can be evaluated
inside the shuffle, without a column of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from unskew._spark.routing.perfect_hash import MOST_ENTRIES, PerfectTable, array_literal
from unskew.partitioners import (
    ConsistentRing,
    KeyGrouping,
    OfflineGreedy,
    Partitioner,
    PlannedSplit,
    RoutingTable,
)
from unskew.partitioners.contract import KeyHashes
from unskew.partitioners.static import AliasTable

_LOW = 0xFFFFFFFF


def is_native(partitioner: Partitioner) -> bool:
    """Whether `worker_expression` can express the scheme."""
    if isinstance(partitioner, OfflineGreedy):
        return partitioner.counts.keys.size <= MOST_ENTRIES
    if isinstance(partitioner, RoutingTable):
        return partitioner.keys.size <= MOST_ENTRIES and is_native(partitioner.fallback)
    if isinstance(partitioner, PlannedSplit):
        return partitioner.owners.size <= MOST_ENTRIES
    return isinstance(partitioner, KeyGrouping | ConsistentRing)


def worker_expression(partitioner: Partitioner, key_hash: Column, row_hash: Column) -> Column:
    """The worker of a row as INT. `row_hash` only matters to schemes that split keys."""
    match partitioner:
        case KeyGrouping():
            return by_hash(key_hash, partitioner.workers)
        case ConsistentRing():
            return _by_arc(partitioner, key_hash)
        case OfflineGreedy():
            return worker_expression(partitioner.table(), key_hash, row_hash)
        case RoutingTable():
            base = worker_expression(partitioner.fallback, key_hash, row_hash)
            return _by_table(partitioner, key_hash, base)
        case PlannedSplit():
            return _by_plan(partitioner, key_hash, row_hash)
    raise NotImplementedError(partitioner.scheme)


def by_hash(key_hash: Column, workers: int) -> Column:
    """Key grouping: the upper half of the hash, scaled to the workers."""
    return _scaled(F.shiftrightunsigned(key_hash, 32), F.lit(workers)).cast("int")


def _scaled(upper: Column, limit: Column) -> Column:
    return F.shiftrightunsigned(upper * limit.cast("bigint"), 32)


def _by_arc(ring: ConsistentRing, key_hash: Column) -> Column:
    arc = F.shiftrightunsigned(key_hash, 65 - ring.arcs.bit_length()).cast("int")
    return F.get(array_literal(ring.owners(), "int"), arc)


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


def _by_table(routes: RoutingTable, key_hash: Column, base: Column) -> Column:
    def owner(table: PerfectTable, slot: Column) -> Column:
        return F.get(array_literal(table.spread(routes.owners, 0), "int"), slot)

    return looked_up(routes.keys, key_hash, owner, base)


def _by_plan(plan: PlannedSplit, key_hash: Column, row_hash: Column) -> Column:
    thresholds, aliases = AliasTable.of(plan.table)

    def owner(table: PerfectTable, slot: Column) -> Column:
        first = F.get(array_literal(table.spread(plan.starts[:-1], 0), "int"), slot)
        parts = F.get(array_literal(table.spread(np.diff(plan.starts), 1), "int"), slot)
        drawn = F.shiftrightunsigned(row_hash, 32) * parts.cast("bigint")
        part = (first + F.shiftrightunsigned(drawn, 32)).cast("int")
        kept = drawn.bitwiseAND(F.lit(_LOW)) < F.get(array_literal(thresholds, "bigint"), part)
        return F.when(kept, F.get(array_literal(plan.owners, "int"), part)).otherwise(
            F.get(array_literal(aliases, "int"), part)
        )

    return looked_up(plan.keys, key_hash, owner, by_hash(key_hash, plan.workers))
