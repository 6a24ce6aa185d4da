"""Planned split: key frequencies say which keys to cut, and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenkeel.errors import ParameterError
from evenkeel.kernels.planned import Draws, Offsets, Weights, alias_parts, draw_in_turn, send_drawn
from evenkeel.partitioners.contract import (
    Independent,
    KeyHashes,
    Need,
    WorkerIds,
    check_workers,
)


def _no_keys() -> KeyHashes:
    return np.empty(0, dtype=np.uint64)


def _no_parts() -> Offsets:
    return np.zeros(1, dtype=np.int64)


def _no_owners() -> WorkerIds:
    return np.empty(0, dtype=np.int32)


def _no_shares() -> Weights:
    return np.empty(0, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedSplit(Independent):
    """Send planned keys to their planned workers, in the planned shares; all others by hash.

    The table holds the hashes of the planned keys in ascending order; key i has the parts
    `starts[i]..starts[i+1]-1`, each with the worker that owns it and its share of the key's rows.
    `plan_split` draws up the table from key frequencies; without one every key goes by its hash.

    When: partial results merge and key frequencies are known, from the data or from an earlier
        run. Not when they are unknown or drift fast within a run: then use `mode="online"`.
    Cost: O(log table) time per row, O(table) memory, no coordination. At most workers - 1 keys
        are cut, so there are at most keys + workers - 1 replicas.
    Paper: ours, after McNaughton's wrap-around rule for machines that may share a job.

    >>> from evenkeel.partitioners.split_planning import plan_split
    >>> hot, cold = np.uint64(0), np.uint64(2**63)
    >>> frequencies = np.array([900.0, 100.0])
    >>> plan = plan_split(np.array([hot, cold]), frequencies, rest=np.zeros(4))
    >>> stream = np.repeat(np.array([hot, cold]), [900, 100])
    >>> np.bincount(plan.router().route(stream)).tolist()
    [250, 250, 250, 250]
    """

    scheme: ClassVar[str] = "planned-split"

    workers: int
    keys: KeyHashes = field(default_factory=_no_keys)
    starts: Offsets = field(default_factory=_no_parts)
    owners: WorkerIds = field(default_factory=_no_owners)
    shares: Weights = field(default_factory=_no_shares)

    def __post_init__(self) -> None:
        check_workers(self.workers)
        check_table(self)

    @property
    def need(self) -> Need:
        """Whole keys while none is cut, else mergeable parts."""
        return Need.WHOLE_KEY if self.max_replicas == 1 else Need.MERGEABLE

    @property
    def max_replicas(self) -> int:
        """The parts of the key that is cut most."""
        return int(np.diff(self.starts).max(initial=1))

    def router(self, source: int = 0, sources: int = 1) -> PlannedSplitRouter:
        """Start the memory of one source: how often it has seen each planned key."""
        return PlannedSplitRouter(
            self, Lots.of(self), source, seen=np.zeros(self.keys.size, dtype=np.uint64)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlannedSplit) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[int | bytes, ...]:
        arrays = (self.keys, self.starts, self.owners, self.shares)
        return (self.workers, *(array.tobytes() for array in arrays))


@dataclass(frozen=True, slots=True, eq=False)
class Lots:
    """The table in the form that a row's draw of 32 bits is looked up in."""

    thresholds: Draws
    aliases: WorkerIds

    @classmethod
    def of(cls, plan: PlannedSplit) -> Lots:
        """Prepare the draws of every part of `plan`."""
        lots = cls(
            np.zeros(plan.owners.size, dtype=np.uint64), np.zeros(plan.owners.size, dtype=np.int32)
        )
        alias_parts(plan.starts, plan.owners, plan.shares, lots.thresholds, lots.aliases)
        return lots

    def route(self, plan: PlannedSplit, keys: KeyHashes, draws: Draws) -> WorkerIds:
        """The worker of every row: a pure function of its key and its draw."""
        out = np.empty(keys.size, dtype=np.int32)
        send_drawn(
            keys,
            draws,
            np.uint64(plan.workers),
            plan.keys,
            plan.starts,
            plan.owners,
            self.thresholds,
            self.aliases,
            out,
        )
        return out


@dataclass(slots=True)
class PlannedSplitRouter:
    """One source's count of the rows of each planned key, so that the shares come out level."""

    plan: PlannedSplit
    lots: Lots
    source: int
    seen: NDArray[np.uint64]

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        draws = np.empty(keys.size, dtype=np.uint64)
        draw_in_turn(keys, self.plan.keys, np.uint64(self.source), self.seen, draws)
        return self.lots.route(self.plan, keys, draws)


def check_table(plan: PlannedSplit) -> None:
    """Refuse a table that is out of order, leaves a key without parts or names no worker."""
    parts = np.diff(plan.starts)
    if plan.starts.size != plan.keys.size + 1 or plan.starts[0] != 0 or (parts < 1).any():
        raise ParameterError("starts must rise from 0, one step of at least one part for each key")
    if not plan.starts[-1] == plan.owners.size == plan.shares.size:
        raise ParameterError(
            f"starts ends at {plan.starts[-1]} parts, but there are {plan.owners.size} owners "
            f"and {plan.shares.size} shares"
        )
    if (plan.keys[1:] <= plan.keys[:-1]).any():
        raise ParameterError("keys must be in ascending order, each once")
    if plan.owners.size and not 0 <= plan.owners.min() <= plan.owners.max() < plan.workers:
        raise ParameterError(
            f"owners reach from {plan.owners.min()} to {plan.owners.max()}; "
            f"workers={plan.workers} are numbered from 0"
        )
    sums = np.add.reduceat(plan.shares, plan.starts[:-1]) if plan.keys.size else np.ones(1)
    if (plan.shares < 0).any() or not np.allclose(sums, 1.0):
        raise ParameterError("shares must not be negative and must add up to 1 for each key")
