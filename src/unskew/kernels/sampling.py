"""Draws from a discrete distribution by inverting its cumulated probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import compiled


def guide_to(cumulated: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each of equally wide steps of 0..1, the first rank that a draw in it can give."""
    steps = np.arange(cumulated.size) / cumulated.size
    return np.searchsorted(cumulated, steps, side="right")


@compiled
def invert(
    cumulated: NDArray[np.float64],
    guide: NDArray[np.int64],
    uniform: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None:
    """The rank of every uniform draw: the number of cumulated probabilities not above it."""
    last = cumulated.size - 1
    for i in range(uniform.size):
        rank = guide[min(int(uniform[i] * guide.size), last)]
        while rank > 0 and cumulated[rank - 1] > uniform[i]:
            rank -= 1
        while rank < last and cumulated[rank] <= uniform[i]:
            rank += 1
        out[i] = rank
