"""Half-linear-half-exponential rounding whose errors cancel out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import compiled


@compiled
def round_in_turn(
    values: NDArray[np.float64],
    largest_first: NDArray[np.int64],
    unit: float,
    degree: int,
    out: NDArray[np.float64],
    steps: NDArray[np.int64],
) -> None:
    """Round each value, the largest first, to the neighbour that keeps the summed error small.

    The representatives are the multiples of `degree` and, below it, the powers of two, times
    `unit`. `steps` numbers them: 0 for zero, then the powers, then the multiples.
    """
    if largest_first.size == 0:
        return
    powers = np.int64(0)
    while (1 << powers) < degree:
        powers += 1
    top = np.int64(values[largest_first[0]] / unit / degree * (1 + 1e-12))
    error = 0.0
    for i in range(largest_first.size):
        row = largest_first[i]
        x = values[row] / unit
        if x <= 0.0:
            out[row] = 0.0
            steps[row] = 0
            continue
        if x >= degree:
            multiple = min(np.int64(x / degree), top)
            low = np.float64(multiple * degree)
            high = low + degree if multiple < top else low
            low_step = powers + multiple
            high_step = low_step + 1 if multiple < top else low_step
        else:
            power = np.int64(0)
            while (2 << power) <= x * (1 + 1e-12):
                power += 1
            low = np.float64(1 << power)
            high = np.float64(2 << power)
            low_step = power + 1
            high_step = power + 2
            # Below the degree the next representative up exists only if some value reaches it.
            if top == 0 and power + 1 >= powers:
                high = low
                high_step = low_step
        if abs(error + x - high) < abs(error + x - low):
            low = high
            low_step = high_step
        error += x - low
        out[row] = low * unit
        steps[row] = low_step
