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
from unskew.partitioners.contract import KeyHashes, WorkerIds
from unskew.partitioners.static import AliasTable, SplitTable, StaticRoutes

_LOW = 0xFFFFFFFF


def is_native(routes: StaticRoutes | None) -> bool:
    """Whether `worker_expression` can express the routes: they are static, in a small table."""
    return routes is not None and routes.table.owners.size <= MOST_ENTRIES


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
