"""The receiving side: queues, speeds, and everything that is counted there."""

from __future__ import annotations

import numpy as np

from unskew.kernels.queueing import (
    LATENCY_BINS,
    Floats,
    Queues,
    Signals,
    Tally,
    accept,
    change_speeds,
    release_all,
)
from unskew.partitioners.contract import WorkerIds

_SMALLEST_POOL = 1024


class Workers:
    """Workers with unbounded first come first served queues, all brought to the same time.

    Tallies only grow; whoever wants the figures of an interval takes the difference.
    """

    def __init__(self, speeds: Floats, sources: int) -> None:
        workers = speeds.size
        self.speeds = speeds
        self.sources = sources
        self.slot = 0
        self.queues = _empty_queues(workers)
        self.tally = Tally(
            assigned=np.zeros(workers, dtype=np.int64),
            work=np.zeros(workers),
            completed=np.zeros(workers, dtype=np.int64),
            latency=np.zeros(workers),
            histogram=np.zeros(LATENCY_BINS, dtype=np.int64),
        )
        self.signals = Signals(
            state=np.zeros(workers, dtype=np.int8),
            heard=np.full((sources, workers), -1, dtype=np.int32),
            source=np.empty(sources * workers, dtype=np.int32),
            worker=np.empty(sources * workers, dtype=np.int32),
            time=np.empty(sources * workers),
            news=np.zeros(1, dtype=np.int64),
        )
        self._offered = np.zeros(workers)
        self._offered_until = 0.0

    def accept(self, times: Floats, workers: WorkerIds, work: Floats, first_source: int) -> None:
        """Queue rows, given in order of their arrival and dealt to the sources in turn."""
        self._make_room(times.size)
        accept(
            times,
            workers,
            work,
            self.speeds,
            first_source,
            self.sources,
            self.slot,
            self.queues,
            self.tally,
            self.signals,
        )

    def advance(self, now: float) -> None:
        """Let every row go that is finished by `now`."""
        release_all(now, self.slot, self.queues, self.tally, self.signals)

    def offered(self, now: float) -> Floats:
        """The work that every worker could have done since the beginning."""
        self._offered += self.speeds * (now - self._offered_until)
        self._offered_until = now
        return self._offered.copy()

    def change_speeds(self, now: float, speeds: Floats) -> None:
        """Serve at other speeds from `now` on, also what waits already."""
        self.advance(now)
        self.offered(now)
        change_speeds(now, self.speeds, speeds, self.queues)
        self.speeds = speeds

    def _make_room(self, rows: int) -> None:
        """Grow the pool so that `rows` more rows may wait."""
        size = self.queues.link.size
        waiting = int(self.queues.length.sum())
        if waiting + rows <= size:
            return
        grown = 1 << (waiting + rows - 1).bit_length()
        link = np.arange(1, grown + 1)
        link[-1] = self.queues.spare[0]
        link[:size] = self.queues.link
        self.queues.spare[0] = size
        self.queues = self.queues._replace(
            finish=_longer(self.queues.finish, grown),
            arrival=_longer(self.queues.arrival, grown),
            origin=np.concatenate(
                [self.queues.origin, np.zeros(grown - size, dtype=np.int32)], dtype=np.int32
            ),
            link=link,
        )


def _longer(values: Floats, size: int) -> Floats:
    return np.concatenate([values, np.zeros(size - values.size)])


def _empty_queues(workers: int) -> Queues:
    link = np.arange(1, _SMALLEST_POOL + 1)
    link[-1] = -1
    return Queues(
        finish=np.zeros(_SMALLEST_POOL),
        arrival=np.zeros(_SMALLEST_POOL),
        origin=np.zeros(_SMALLEST_POOL, dtype=np.int32),
        link=link,
        spare=np.zeros(1, dtype=np.int64),
        first=np.full(workers, -1, dtype=np.int64),
        last=np.full(workers, -1, dtype=np.int64),
        length=np.zeros(workers, dtype=np.int64),
        free_at=np.zeros(workers),
    )
