"""The hash of whole numbers in memory, such as the ids of generated streams."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.errors import KeyTypeError
from unskew.kernels import KeyHashes
from unskew.kernels.xxhash import hash_longs

SEED = 42
"""Where Spark's `xxhash64` starts."""


def hash_ids(ids: NDArray[np.int64]) -> KeyHashes:
    """The hash of each id: the bits of Spark's `xxhash64(id)` for a BIGINT column.

    >>> hash_ids(np.array([0, 1])).view(np.int64).tolist()
    [-5252525462095825812, -7001672635703045582]
    """
    if ids.dtype.kind != "i":
        raise KeyTypeError(f"ids must be signed whole numbers, not {ids.dtype}; cast them to int64")
    hashes = np.full(ids.size, SEED, dtype=np.uint64)
    hash_longs(ids.astype(np.int64, copy=False), None, None, hashes)
    return hashes
