"""Arrival times of rows and the work of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.mixing import salt_all
from unskew.kernels.queueing import Floats
from unskew.partitioners.contract import KeyHashes, check_seed

Service = Literal["constant", "per-key", "per-row"]

_ONE = np.ones(1)


@dataclass(frozen=True, slots=True)
class Traffic:
    """How a stream of keys reaches the workers.

    `rate` is relative to what all workers can serve together. A row is a unit of work
    (`"constant"`), or an exponential amount with mean 1 that belongs to its key (`"per-key"`) or
    is its own (`"per-row"`). Rows come at regular intervals, or at random ones (`poisson`).
    """

    rate: float = 0.8
    service: Service = "constant"
    poisson: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.rate < float("inf"):
            raise ParameterError(f"rate={self.rate} must be above 0; 0.8 loads workers to 80 %")
        check_seed(self.seed)
        if self.service not in get_args(Service):
            raise ParameterError(
                f"service={self.service!r} is not one of {', '.join(get_args(Service))}"
            )


@dataclass(slots=True)
class Arrivals:
    """The arrival times and the work of rows, in order."""

    traffic: Traffic
    per_second: float
    messages: int = 0
    now: float = 0.0
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.traffic.seed)

    def times(self, rows: int) -> Floats:
        """When the next `rows` rows arrive, in seconds."""
        if self.traffic.poisson:
            gaps = self.random.exponential(1 / self.per_second, rows)
            times: Floats = self.now + np.cumsum(gaps)
        else:
            times = np.arange(self.messages, self.messages + rows) / self.per_second
        self.messages += rows
        if rows:
            self.now = float(times[-1])
        return times

    def work(self, keys: KeyHashes) -> Floats:
        """The work of every row, or a single number that holds for all."""
        if self.traffic.service == "constant":
            return _ONE
        if self.traffic.service == "per-row":
            return self.random.exponential(1.0, keys.size)
        words = salt_all(keys, np.uint64(self.traffic.seed))
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return -np.log1p(-uniform)
