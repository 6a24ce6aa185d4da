"""The history of a run: samples over time, for each worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unskew.kernels.queueing import Floats, latency_of_bin
from unskew.partitioners.contract import Loads
from unskew.simulator.virtual import VirtualRouter, virtual_workers
from unskew.simulator.workers import Workers


@dataclass(slots=True)
class Sample:
    """The state at a time, and the figures of the interval that ends there."""

    time: float
    messages: int
    loads: Loads
    """Rows given to each worker since the beginning."""
    queue: Loads
    utilisation: Floats
    latency: Floats
    """Mean latency of the rows that each worker finished in the interval, in seconds."""
    latency_mean: float
    latency_p50: float
    latency_p99: float
    throughput: float
    replicas: int
    virtual: Loads | None

    @property
    def imbalance(self) -> float:
        """How far the highest utilisation is above the mean."""
        return float(self.utilisation.max() - self.utilisation.mean())

    @property
    def spread(self) -> float:
        """How far the highest utilisation is above the lowest."""
        return float(self.utilisation.max() - self.utilisation.min())


@dataclass(slots=True)
class Recorder:
    """Takes samples: differences of the workers' tallies since the last one."""

    workers: Workers
    routers: Sequence[VirtualRouter]
    samples: list[Sample] = field(default_factory=list)
    _time: float = 0.0
    _work: Floats = field(init=False)
    _offered: Floats = field(init=False)
    _completed: Loads = field(init=False)
    _latency: Floats = field(init=False)
    _histogram: Loads = field(init=False)

    def __post_init__(self) -> None:
        self._remember(0.0)

    def take(self, now: float, replicas: int) -> None:
        """Bring the workers to `now` and write down what happened since the last sample."""
        self.workers.advance(now)
        tally = self.workers.tally
        completed = tally.completed - self._completed
        latency = tally.latency - self._latency
        histogram = tally.histogram - self._histogram
        finished = int(completed.sum())
        self.samples.append(
            Sample(
                time=now,
                messages=int(tally.assigned.sum()),
                loads=tally.assigned.copy(),
                queue=self.workers.queues.length.copy(),
                utilisation=(tally.work - self._work) / (self.workers.offered(now) - self._offered),
                latency=latency / np.maximum(completed, 1),
                latency_mean=float(latency.sum()) / max(finished, 1),
                latency_p50=percentile(histogram, 0.50),
                latency_p99=percentile(histogram, 0.99),
                throughput=finished / (now - self._time),
                replicas=replicas,
                virtual=virtual_workers(self.routers, self.workers.speeds.size),
            )
        )
        self._remember(now)

    def elapsed(self, now: float) -> float:
        """Seconds since the last sample."""
        return now - self._time

    def _remember(self, now: float) -> None:
        tally = self.workers.tally
        self._time = now
        self._work = tally.work.copy()
        self._offered = self.workers.offered(now)
        self._completed = tally.completed.copy()
        self._latency = tally.latency.copy()
        self._histogram = tally.histogram.copy()


def percentile(histogram: NDArray[np.int64], share: float) -> float:
    """The latency that `share` of the counted rows do not exceed, within 1.6 %."""
    reached = np.cumsum(histogram)
    if not reached[-1]:
        return 0.0
    return latency_of_bin(int(np.searchsorted(reached, share * reached[-1])))
