"""Planned split: cuts heavy keys by their frequencies, so that workers are level."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.planned import Draws, Index, first_draws, send_in_turn
from unskew.partitioners.contract import (
    KeyHashes,
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)
from unskew.partitioners.split_planning import index_of, plan_split
from unskew.partitioners.static import AliasTable, SplitTable, StaticRoutes
from unskew.sketches.frozen import ArrayValue, frozen
from unskew.sketches.key_counts import KeyCounts


@dataclass(frozen=True, eq=False)
class PlannedSplit(ArrayValue, PartitionerBase):
    """Send planned keys to their planned workers, in the planned shares; all others by hash.

    The table holds the hashes of the planned keys in ascending order; key i has the parts
    `starts[i]..starts[i+1]-1`, each with the worker that owns it and its share of the key's rows.
    Given `counts`, the table is made from them; with neither, every key goes by its hash.

    When: partial results merge and key frequencies are known, from the data or from an earlier
        run. Not when they are not known or drift: an adaptive split finds them out as it routes.
    Cost: O(log table) time per row, O(table) memory, no coordination. At most workers - 1 cuts
        are made, so there are at most keys + workers - 1 replicas.
    Paper: ours, after McNaughton's wrap-around rule for machines that may share a job.

    >>> stream = np.repeat(np.array([0, 2**63], dtype=np.uint64), [900, 100])
    >>> plan = PlannedSplit(workers=4, counts=KeyCounts.of([stream]))
    >>> np.bincount(plan.router().route(stream)).tolist()
    [251, 249, 251, 249]
    """

    scheme: ClassVar[str] = "planned-split"
    uses_frequencies: ClassVar[bool] = True

    workers: int
    keys: KeyHashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    starts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    owners: WorkerIds = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    shares: NDArray[np.float64] = field(default_factory=lambda: np.empty(0, dtype=np.float64))
    counts: KeyCounts = field(default_factory=KeyCounts.none)

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        if self.counts.keys.size:
            self._take_counts(self.counts)
        object.__setattr__(self, "keys", frozen(self.keys, np.uint64))
        object.__setattr__(self, "starts", frozen(self.starts, np.int64))
        object.__setattr__(self, "owners", frozen(self.owners, np.int32))
        object.__setattr__(self, "shares", frozen(self.shares, np.float64))
        check_table(self)

    @classmethod
    def of(cls, workers: int, table: SplitTable) -> PlannedSplit:
        """The partitioner that follows `table`."""
        return cls(workers, *table)

    @property
    def table(self) -> SplitTable:
        """The plan itself."""
        return SplitTable(self.keys, self.starts, self.owners, self.shares)

    @property
    def static(self) -> StaticRoutes:
        """The plan over key grouping."""
        return StaticRoutes(self.workers, self.table)

    @property
    def need(self) -> Need:
        """Whole keys while none is cut, else mergeable parts."""
        return Need.WHOLE_KEY if self.max_replicas == 1 else Need.MERGEABLE

    @property
    def max_replicas(self) -> int:
        """The parts of the key that is cut most."""
        return int(np.diff(self.starts).max(initial=1))

    def router(self, source: int = 0, sources: int = 1) -> PlannedSplitRouter:
        """Start the memory of one source: the next draw of each planned key."""
        return PlannedSplitRouter.start(self.workers, self.table, source)

    def _take_counts(self, counts: KeyCounts) -> None:
        if self.keys.size:
            raise ParameterError("counts and a table are both given; give only one")
        table = plan_split(counts.keys, counts.counts.astype(float), np.zeros(self.workers))
        for name, column in table._asdict().items():
            object.__setattr__(self, name, column)
        # The table says all; keeping the counts would make the value as large as the data.
        object.__setattr__(self, "counts", KeyCounts.none())


@dataclass(slots=True)
class PlannedSplitRouter:
    """One source's next draw for each planned key, so that the shares come out level."""

    workers: int
    table: SplitTable
    index: Index
    alias: AliasTable
    draws: Draws

    @classmethod
    def start(cls, workers: int, table: SplitTable, source: int) -> PlannedSplitRouter:
        """A source that has sent nothing yet."""
        draws = np.zeros(table.keys.size, dtype=np.uint64)
        first_draws(table.keys, np.uint64(source), draws)
        return cls(workers, table, index_of(table), AliasTable.of(table), draws)

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        _, starts, owners, _ = self.table
        workers = np.uint64(self.workers)
        send_in_turn(keys, self.draws, workers, self.index, starts, owners, *self.alias, out)
        return out


def check_table(plan: PlannedSplit) -> None:
    """Raise unless the table is in order, and its parts, owners and shares are consistent."""
    keys, starts, owners, shares = plan.table
    if starts.size != keys.size + 1 or starts[0] != 0 or (np.diff(starts) < 1).any():
        raise ParameterError("starts must begin at 0 and rise by at least 1, the parts of each key")
    if not starts[-1] == owners.size == shares.size:
        raise ParameterError(
            f"starts ends at {starts[-1]} parts, but there are {owners.size} owners "
            f"and {shares.size} shares"
        )
    if (keys[1:] <= keys[:-1]).any():
        raise ParameterError("keys must be in ascending order, each once")
    if owners.size and not 0 <= owners.min() <= owners.max() < plan.workers:
        raise ParameterError(
            f"owners reach from {owners.min()} to {owners.max()}; "
            f"workers={plan.workers} are numbered from 0"
        )
    sums = np.add.reduceat(shares, starts[:-1]) if keys.size else np.ones(1)
    if (shares < 0).any() or not np.allclose(sums, 1.0):
        raise ParameterError("shares must not be negative and must add up to 1 for each key")
