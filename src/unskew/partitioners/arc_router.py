"""A router that looks up the arc of a key's hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unskew.hashing.ring import arc_shift
from unskew.kernels import KeyHashes, WorkerIds
from unskew.kernels.ring import send_by_arc


@dataclass(slots=True)
class ArcRouter:
    """The owner of each of a power of two of equal arcs; never changes."""

    owners: WorkerIds

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        send_by_arc(keys, arc_shift(self.owners.size), self.owners, out)
        return out
