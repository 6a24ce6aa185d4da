"""Discretisation of costs and states, for a smaller planning problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.errors import ParameterError
from unskew.kernels.discretising import round_in_turn
from unskew.rebalancing.statistics import Amounts


def discretise(values: Amounts, degree: int) -> tuple[Amounts, NDArray[np.int64]]:
    """Round `values` to multiples of `degree` and, below it, powers of two, of the least value.

    Values are taken from the largest down, and each goes to whichever neighbour keeps the summed
    error smaller (the lower one on a tie), so that sums over many values stay right. Returns the
    rounded values and the number of the representative that each took.

    Cost: O(n log n) time.
    Paper: Fang et al., Parallel Stream Processing Against Workload Skewness and Variance,
        section IV-B (HLHE, R = `degree`).

    >>> costs = np.array([8.0, 6, 3, 2, 2, 1, 1, 1, 1, 1])
    >>> rounded, _ = discretise(costs, degree=4)
    >>> rounded.tolist(), float((costs - rounded).sum())
    ([8.0, 4.0, 4.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0], 0.0)
    """
    if degree < 1 or degree & (degree - 1):
        raise ParameterError(f"degree={degree} is not a power of two")
    unit = float(values.min(where=values > 0, initial=np.inf))
    rounded = np.zeros(values.size)
    steps = np.zeros(values.size, dtype=np.int64)
    if np.isfinite(unit):
        # Beyond 2^52 units a multiple of the degree would not be exact, nor matter.
        unit = max(unit, float(values.max()) / 2**52)
        round_in_turn(values, np.argsort(-values), unit, degree, rounded, steps)
    return rounded, steps
