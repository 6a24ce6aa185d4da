"""Which keys change worker between two routing tables, as their workers are told.

The old worker of a key hands its state over at the end of a batch, in its own task: a tombstone in
its own log, and the state in a log for the new worker. From the next batch on rows go there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # Python workers import this module; kernels would take them seconds.
    from unskew.partitioners import RoutingTable


class Base(NamedTuple):
    """Where keys go that no table names, as `StaticRoutes` says it."""

    workers: int
    arcs: NDArray[np.int32] | None

    def route(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The worker of every key."""
        half = np.uint64(32)
        found: NDArray[np.int32]
        if self.arcs is None:
            found = (((keys >> half) * np.uint64(self.workers)) >> half).astype(np.int32)
        else:
            found = self.arcs[keys >> np.uint64(65 - int(self.arcs.size).bit_length())].copy()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """The new workers of keys: of the `keys` alone, or of all where there is a new `base`."""

    keys: NDArray[np.uint64]
    """In ascending order."""
    sources: NDArray[np.int32]
    """The present workers of `keys`; of no meaning where all keys may move."""
    targets: NDArray[np.int32]
    base: Base | None = None

    @classmethod
    def between(cls, before: RoutingTable, after: RoutingTable) -> Moves | None:
        """None if every key stays."""
        if before.fallback != after.fallback:
            routes = after.static
            assert routes is not None  # Its base is never a scheme that learns.
            return cls(after.keys, after.owners, after.owners, Base(routes.workers, routes.arcs))
        named = np.union1d(before.keys, after.keys)
        sources, targets = (each.router().route(named) for each in (before, after))
        changed = sources != targets
        if not changed.any():
            return None
        return cls(named[changed], sources[changed], targets[changed])

    def from_worker(self, worker: int) -> NDArray[np.int64]:
        """The hashes that leave a worker by name."""
        leaving: NDArray[np.int64] = self.keys[self.sources == worker].view(np.int64)
        return leaving

    def targets_of(self, hashes: NDArray[np.int64], worker: int) -> NDArray[np.int32]:
        """Where each hash that is on `worker` now will be."""
        keys = hashes.view(np.uint64)
        out = np.full(keys.size, worker, dtype=np.int32)
        if self.base is not None:
            out = self.base.route(keys)
        if self.keys.size:
            places = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
            named = self.keys[places] == keys
            out[named] = self.targets[places[named]]
        return out
