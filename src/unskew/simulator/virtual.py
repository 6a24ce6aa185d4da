"""Routers that own virtual workers, as the simulator sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from unskew.partitioners.contract import KeyHashes, Loads, Router, WorkerIds, WorkerReport


@runtime_checkable
class VirtualRouter(Protocol):
    """A router that moves virtual workers between workers when they signal busy or idle."""

    owners: WorkerIds

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        ...

    def learn(self, report: WorkerReport) -> None:
        """Pair busy with idle workers."""
        ...


def listeners(routers: Sequence[Router]) -> list[VirtualRouter]:
    """Those of the routers that act on busy and idle signals."""
    return [router for router in routers if isinstance(router, VirtualRouter)]


def virtual_workers(routers: Sequence[VirtualRouter], workers: int) -> Loads | None:
    """How many virtual workers each worker has, over all sources; None without any."""
    if not routers:
        return None
    counts = np.zeros(workers, dtype=np.int64)
    for router in routers:
        counts += np.bincount(router.owners, minlength=workers)
    return counts
