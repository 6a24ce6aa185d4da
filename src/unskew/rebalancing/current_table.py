"""The routing table that matches where keys are now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.errors import InputError
from unskew.kernels import KeyHashes
from unskew.partitioners.contract import Partitioner
from unskew.partitioners.routing_table import RoutingTable


def table_of(keys: KeyHashes, workers: NDArray[np.integer], base: Partitioner) -> RoutingTable:
    """The table over `base` in which every key is on its worker.

    >>> from unskew.partitioners import KeyGrouping
    >>> keys = np.array([1, 2**63], dtype=np.uint64)
    >>> table_of(keys, np.array([1, 1]), KeyGrouping(2)).keys.tolist()   # 2**63 is at home
    [1]
    """
    wrong = workers[(workers < 0) | (workers >= base.workers)]
    if wrong.size:
        raise InputError(
            f"worker {wrong[0]} is not in 0..{base.workers - 1}; "
            "give the previous number of workers (--before)"
        )
    away = base.router().route(keys) != workers
    return RoutingTable(base.workers, keys[away], workers[away].astype(np.int32), base)
