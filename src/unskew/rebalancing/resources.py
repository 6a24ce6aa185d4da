"""Resource use of a key by its frequency, and the threshold from which keys are tracked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unskew.errors import ParameterError
from unskew.kernels import WorkerIds
from unskew.metrics import max_over_min
from unskew.rebalancing.statistics import Amounts

Growth = Literal["constant", "linear", "quadratic"]
"""How the use of a resource grows with the frequency of a key."""

_POWER = {"constant": 0, "linear": 1, "quadratic": 2}


def amount(growth: Growth, frequency: Amounts) -> Amounts:
    """How much of a resource keys of these frequencies use.

    >>> amount("quadratic", np.array([5.0, 3.0])).tolist()
    [25.0, 9.0]
    """
    return frequency ** _POWER[growth]


@dataclass(frozen=True, slots=True)
class Resources:
    """State, computation and communication that a key uses, and the tolerated imbalance.

    `alpha` bounds the highest load over the lowest, for each resource. Communication is always
    linear. The paper's equation 3 multiplies the computation by the frequency once more, against
    its own examples; here, as in the examples, a quadratic resource takes f².
    """

    state: Growth = "linear"
    computation: Growth = "constant"
    alpha: float = 1.2

    def __post_init__(self) -> None:
        for name, growth in (("state", self.state), ("computation", self.computation)):
            if growth not in get_args(Growth):
                raise ParameterError(
                    f"{name}={growth!r} is not one of {', '.join(get_args(Growth))}"
                )
        if not 1 < self.alpha < math.inf:
            raise ParameterError(
                f"alpha={self.alpha} is not above 1; 1.2 lets the highest load be 1.2 × the lowest"
            )

    @property
    def each(self) -> tuple[Growth, Growth, Growth]:
        """The growth of state, computation and communication."""
        return self.state, self.computation, "linear"

    def weights(self) -> dict[Growth, float]:
        """The resources that need balancing, each with its weight in the geometric mean.

        A constant resource is level by itself: the hash spreads the number of keys.
        """
        varying = [growth for growth in self.each if growth != "constant"]
        return {growth: varying.count(growth) / len(varying) for growth in varying}

    def tolerance(self, workers: int) -> float:
        """The deviation from the mean load, as a fraction of it, that `alpha` allows.

        >>> round(Resources().tolerance(10), 4)
        0.1765
        """
        return (self.alpha - 1) / (1 + self.alpha / (workers - 1))

    def first_threshold(self, domain: int, sigma: float, workers: int) -> float:
        """The frequency from which keys must be counted, by what is known before any are.

        One key that is not counted may use up at most `sigma` of the tolerance. The mean load of a
        quadratic resource is taken to be as low as it can be over `domain` keys.
        """
        allowed = sigma * self.tolerance(workers)
        threshold = 1.0
        if "linear" in self.each:
            threshold = min(threshold, allowed / workers)
        if "quadratic" in self.each:
            threshold = min(threshold, math.sqrt(allowed / (domain * workers)))
        return threshold

    def threshold(self, frequency: Amounts, domain: int, sigma: float, workers: int) -> float:
        """The frequency from which keys are tracked: `delta` of the paper.

        As `first_threshold`, but with the mean load of a quadratic resource predicted from the
        keys above that, which raises it.
        """
        first = self.first_threshold(domain, sigma, workers)
        if "quadratic" not in self.each:
            return first
        allowed = sigma * self.tolerance(workers)
        seen = frequency[frequency >= first]
        unseen = max(domain - seen.size, 1)
        load = float((seen**2).sum()) + max(0.0, 1.0 - float(seen.sum())) ** 2 / unseen
        # Communication is linear, so its threshold is among those to keep.
        return min(allowed / workers, math.sqrt(allowed * load / workers))

    def relative_imbalance(self, frequency: Amounts, owner: WorkerIds, workers: int) -> float:
        """The highest over the lowest load in units of `alpha`: mean over the three resources."""
        product = 1.0
        for growth in self.each:
            loads = np.bincount(owner, weights=amount(growth, frequency), minlength=workers)
            product *= max_over_min(loads) / self.alpha
        return float(product ** (1 / 3))

    def relative_migration(
        self, frequency: Amounts, before: WorkerIds, after: WorkerIds, workers: int
    ) -> float:
        """The state that moves over one worker's fair share of all state."""
        state = amount(self.state, frequency)
        return float(state[before != after].sum() / (state.sum() / workers))
