"""Small tables inside an expression: one multiplication-free look-up per row, no join.

A broadcast join would copy every row to widen it; an array literal is read in place. The keys lie
in a perfect hash table: the upper bits of a hash pick a bucket, the bucket says how far to shift
the hash, and the shifted hash's lower bits are the slot. No two keys share a slot, so one
comparison tells whether a row's key is in the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

from unskew.errors import ParameterError
from unskew.partitioners.contract import KeyHashes

MOST_ENTRIES = 1 << 14
"""Above this a table is looked up in Python: a query plan is no place for megabytes."""


def array_literal(values: Iterable[Any], kind: str) -> Column:
    """An array of whole numbers as one literal.

    A list of literals would be a plan node each; one string is split and cast when the plan is
    optimised, once.
    """
    text = ",".join(str(int(value)) for value in values)
    return F.split(F.lit(text), ",").cast(f"array<{kind}>")


class PerfectTable(NamedTuple):
    """Where each key lies: `shifts` per bucket, `entries` per slot (-1 for an empty one)."""

    shifts: NDArray[np.int64]
    entries: NDArray[np.int64]

    @classmethod
    def of(cls, keys: KeyHashes) -> PerfectTable:
        """Find a shift for each bucket, the fullest first, that puts its keys on free slots."""
        buckets = max(2, 1 << int(keys.size).bit_length())
        slots = 4 * buckets
        homes = _upper_bits(keys, buckets).astype(np.int64)
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
        shift = 65 - int(self.shifts.size).bit_length()
        bucket = F.shiftrightunsigned(key_hash, shift).cast("int")
        shifts = F.get(array_literal(self.shifts, "int"), bucket)
        shifted = F.call_function("shiftrightunsigned", key_hash, shifts)
        return shifted.bitwiseAND(F.lit(self.entries.size - 1)).cast("int")

    def spread(self, values: NDArray[Any], empty: int) -> NDArray[Any]:
        """The values of the entries, slot by slot."""
        padded = np.append(values, np.array([empty], dtype=values.dtype))
        return padded[self.entries]


def _upper_bits(keys: KeyHashes, buckets: int) -> KeyHashes:
    return keys >> np.uint64(65 - int(buckets).bit_length())
