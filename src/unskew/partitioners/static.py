"""The routes of a scheme that does not learn, as plain data.

A driver that knows `StaticRoutes` can run every such scheme without its router, and needs no case
for each: kg, ring, routing-table, offline-greedy and planned-split are all expressed by one value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.hashing.ring import arc_shift
from unskew.kernels import KeyHashes, WorkerIds
from unskew.kernels.planned import Draws, Offsets, Weights, alias_parts

_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class SplitTable(NamedTuple):
    """Keys in ascending order; key i has the parts `starts[i]..starts[i+1]-1`."""

    keys: KeyHashes
    starts: Offsets
    owners: WorkerIds
    shares: Weights

    @classmethod
    def whole(cls, keys: KeyHashes, owners: WorkerIds) -> SplitTable:
        """Each of `keys`, in ascending order, on its one owner."""
        return cls(keys, np.arange(keys.size + 1, dtype=np.int64), owners, np.ones(keys.size))

    @classmethod
    def empty(cls) -> SplitTable:
        """No keys at all."""
        return cls.whole(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int32))

    @property
    def parts(self) -> Offsets:
        """How many parts each key has."""
        return np.diff(self.starts)

    def entries(self, which: Offsets) -> SplitTable:
        """The table of these entries alone, in this order."""
        starts, parts = parts_of(self.starts, which)
        return SplitTable(self.keys[which], starts, self.owners[parts], self.shares[parts])


class AliasTable(NamedTuple):
    """The parts of a `SplitTable` in the form that a draw of 32 bits picks from (Walker's).

    A draw times a key's number of parts has the part in its upper and a fraction in its lower 32
    bits. Below the part's threshold the row goes to the part's owner, else to its alias.
    """

    thresholds: Draws
    aliases: WorkerIds

    @classmethod
    def of(cls, table: SplitTable) -> AliasTable:
        """Prepare the draws of every part of `table`."""
        made = cls(
            np.zeros(table.owners.size, dtype=np.uint64),
            np.zeros(table.owners.size, dtype=np.int32),
        )
        alias_parts(table.starts, table.owners, table.shares, *made)
        return made


@dataclass(frozen=True, slots=True, eq=False)
class StaticRoutes:
    """A table of keys, each with its workers and their shares of it; all other keys by hash.

    >>> table = SplitTable.whole(np.array([7], dtype=np.uint64), np.array([3], dtype=np.int32))
    >>> keys = np.array([7, 2**63], dtype=np.uint64)
    >>> StaticRoutes(4, table).route(keys, draws=np.zeros(2, dtype=np.uint64)).tolist()
    [3, 2]
    """

    workers: int
    table: SplitTable
    arcs: WorkerIds | None = None
    """For keys that are not in the table: the owner of each of a power of two of equal arcs of
    the range of hashes. None: as key grouping does, by the upper 32 bits scaled to the workers."""

    @property
    def cut(self) -> KeyHashes:
        """The only keys that are split over several workers."""
        return self.table.keys[self.table.parts > 1]

    def overridden(self, table: SplitTable) -> StaticRoutes:
        """The same routes, except for the keys of `table`."""
        kept = np.flatnonzero(~np.isin(self.table.keys, table.keys))
        ours = self.table.entries(kept)
        both = SplitTable(
            np.concatenate([ours.keys, table.keys]),
            np.concatenate([ours.starts[:-1], ours.starts[-1] + table.starts]),
            np.concatenate([ours.owners, table.owners]),
            np.concatenate([ours.shares, table.shares]),
        )
        return StaticRoutes(self.workers, both.entries(np.argsort(both.keys)), self.arcs)

    def route(self, keys: KeyHashes, draws: Draws) -> WorkerIds:
        """The worker of every row: a pure function of its key's hash and its draw of 32 bits.

        The draws only matter to keys that are cut. This is the definition, in numpy; routers and
        native expressions must agree with it.
        """
        out = self._by_hash(keys)
        if not self.table.keys.size:
            return out
        entries = np.minimum(np.searchsorted(self.table.keys, keys), self.table.keys.size - 1)
        rows = np.flatnonzero(self.table.keys[entries] == keys)
        entries = entries[rows]
        scaled = draws[rows] * self.table.parts[entries].astype(np.uint64)
        parts = self.table.starts[entries] + (scaled >> _32).astype(np.int64)
        thresholds, aliases = AliasTable.of(self.table)
        keeps: NDArray[np.bool_] = (scaled & _LOW) < thresholds[parts]
        out[rows] = np.where(keeps, self.table.owners[parts], aliases[parts])
        return out

    def _by_hash(self, keys: KeyHashes) -> WorkerIds:
        if self.arcs is not None:
            owners: WorkerIds = self.arcs[keys >> arc_shift(self.arcs.size)]
            return owners
        scaled: KeyHashes = ((keys >> _32) * np.uint64(self.workers)) >> _32
        return scaled.astype(np.int32)


def parts_of(starts: Offsets, entries: Offsets) -> tuple[Offsets, Offsets]:
    """The parts of `entries`, in their order: where each entry's begin, and where they were."""
    parts = np.diff(starts)[entries]
    ends = np.cumsum(parts)
    positions = np.repeat(starts[:-1][entries] - (ends - parts), parts) + np.arange(parts.sum())
    return np.concatenate(([0], ends)).astype(np.int64), positions
