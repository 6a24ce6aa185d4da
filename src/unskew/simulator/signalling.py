"""Busy and idle signals: raised by workers once a slot, learnt with acknowledgements.

A worker never calls a source. The source learns what a worker has to say with the acknowledgement
of a row that it sent there itself, so sources learn at different times and keep different maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.queueing import Floats
from unskew.partitioners.contract import WorkerReport
from unskew.simulator.virtual import VirtualRouter
from unskew.simulator.workers import Workers

Measure = Literal["utilisation", "queue"]

_TICKS_PER_SLOT = 60


@dataclass(frozen=True, slots=True)
class Signalling:
    """When a worker calls itself busy or idle.

    It compares, at the end of every `slot` seconds, the work given to it in the slot with what it
    could do in it (`"utilisation"`), or its queue with `queue_capacity` (`"queue"`).

    Paper: Nasir et al., Consistent Grouping, sections IV-B, IV-C and VI-A.
    """

    slot: float = 60.0
    busy: float = 0.85
    idle: float = 0.75
    by: Measure = "utilisation"
    queue_capacity: int = 1024

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.slot > 0:
            raise ParameterError(f"slot={self.slot} must be above 0 seconds")
        if not 0 <= self.idle <= self.busy:
            raise ParameterError(f"idle={self.idle} is not in 0..busy={self.busy}")
        if self.by not in get_args(Measure):
            raise ParameterError(f"by={self.by!r} is not one of {', '.join(get_args(Measure))}")

    @property
    def tick(self) -> float:
        """How often a source reads its acknowledgements, in seconds."""
        return self.slot / _TICKS_PER_SLOT


class SignalBoard:
    """The signals of this slot, and which sources have not yet received them."""

    def __init__(
        self, signalling: Signalling, workers: Workers, routers: Sequence[VirtualRouter]
    ) -> None:
        self.signalling = signalling
        self.workers = workers
        self.routers = routers
        self.raised = 0
        self.delivered = 0
        self._unheard = 0
        self._work: Floats = workers.tally.work.copy()
        self._offered: Floats = workers.offered(0.0)

    @property
    def waiting(self) -> bool:
        """Whether some source has yet to receive a signal."""
        return self._unheard > 0

    def end_slot(self, now: float) -> None:
        """End the slot: every worker decides again, and signals not delivered are dropped."""
        self.deliver(now)
        level = self._level(now)
        state = self.workers.signals.state
        state[:] = 0
        state[level > self.signalling.busy] = 1
        state[level < self.signalling.idle] = -1
        signalling = int(np.count_nonzero(state))
        self.raised += signalling
        self._unheard = signalling * len(self.routers)
        self.workers.slot += 1

    def deliver(self, now: float) -> None:
        """Deliver to each source the signals that its acknowledgements carried, earliest first."""
        self.workers.advance(now)
        signals = self.workers.signals
        news = int(signals.news[0])
        if not news:
            return
        signals.news[0] = 0
        self.delivered += news
        self._unheard -= news
        order = np.lexsort((signals.time[:news], signals.source[:news]))
        sources, heard = signals.source[:news][order], signals.worker[:news][order]
        starts = np.flatnonzero(np.diff(sources, prepend=-1))
        for source, senders in zip(sources[starts], np.split(heard, starts[1:]), strict=True):
            state = signals.state[senders]
            self.routers[source].learn(
                WorkerReport(busy=senders[state > 0], idle=senders[state < 0])
            )

    def _level(self, now: float) -> Floats:
        if self.signalling.by == "queue":
            return self.workers.queues.length / self.signalling.queue_capacity
        work, offered = self.workers.tally.work.copy(), self.workers.offered(now)
        level: Floats = (work - self._work) / (offered - self._offered)
        self._work, self._offered = work, offered
        return level
