"""The only compiled loops: arrays in, arrays out, and the only import of numba.

A kernel changes the arrays it is given and knows nothing of schemes, files or Spark. Integers in
a kernel are cast on purpose: numba turns `uint64 + int64` into a float.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

KeyHashes = NDArray[np.uint64]
WorkerIds = NDArray[np.int32]
Loads = NDArray[np.int64]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile `function` once per machine (the result is cached on disk) and free the GIL in it."""
    kernel: Callable[_P, _R] = numba.njit(cache=True, nogil=True)(function)
    return kernel


def tight(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """As `compiled`, without counting references: for loops that only use what they are given.

    Numba counts one at nearly every mention of an array, which can take half of a loop's time.
    A kernel that allocates an array cannot be tight.
    """
    options: dict[str, bool] = {"cache": True, "nogil": True, "_nrt": False}
    kernel: Callable[_P, _R] = numba.njit(**options)(function)  # type: ignore[call-overload]
    return kernel


def inlined(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """As `compiled`, pasted into its callers: passing arrays costs numba more than small work."""
    kernel: Callable[_P, _R] = numba.njit(inline="always", nogil=True)(function)
    return kernel
