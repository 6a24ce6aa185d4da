"""Points and arcs of a consistent-hashing ring."""

from __future__ import annotations

import numpy as np

from unskew.kernels import KeyHashes, WorkerIds, compiled
from unskew.kernels.mixing import salted


@compiled
def fill_points(seed: np.uint64, points: KeyHashes) -> None:
    """Write the points of a ring: the i-th depends on nothing but i."""
    for i in range(points.size):
        points[i] = salted(seed, np.uint64(i))


@compiled
def send_by_arc(keys: KeyHashes, shift: np.uint64, owners: WorkerIds, out: WorkerIds) -> None:
    """Send every key to the owner of the arc that the upper bits of its hash name."""
    for i in range(keys.size):
        out[i] = owners[np.int64(keys[i] >> shift)]
