"""Routing without time: how many rows each worker gets, and on how many workers each key is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.metrics import imbalance, max_over_mean, replication
from unskew.partitioners import Partitioner
from unskew.partitioners.contract import KeyHashes, WorkerIds
from unskew.simulator.sources import SourceBy, Sources
from unskew.sketches.key_table import PairSet
from unskew.workloads import Stream

CHECKPOINTS = 1000
INTERVALS = 20
"""Into how many the stream is cut to see what workers would hold and merge at each flush."""


@dataclass(frozen=True)
class CountingResult:
    """What a scheme did to a stream."""

    partitioner: Partitioner
    sources: int
    loads: NDArray[np.int64]
    keys: int
    replicas: int
    imbalances: NDArray[np.float64]
    """(highest - mean load) at each of up to 1,000 equally spaced checkpoints, in rows."""
    checkpoints: NDArray[np.int64]
    """After how many rows each checkpoint was."""
    seconds: float
    """Spent routing, measurements left out."""
    interval_balances: NDArray[np.float64]
    """The highest load over the mean in each of up to 20 equal intervals."""
    interval_replicas: NDArray[np.int64]
    """The replicas that exist in each interval, if they are flushed at its end."""

    @property
    def messages(self) -> int:
        """How many rows were routed."""
        return int(self.loads.sum())

    def as_dict(self) -> dict[str, object]:
        """The fields of `unskew simulate --json`."""
        messages = self.messages
        return {
            "scheme": self.partitioner.scheme,
            "workers": self.partitioner.workers,
            "sources": self.sources,
            "messages": messages,
            "keys": self.keys,
            "max_over_mean": max_over_mean(self.loads),
            "imbalance": imbalance(self.loads),
            "imbalance_average": float(self.imbalances.mean()) / messages if messages else 0.0,
            "replicas": self.replicas,
            "replication": replication(self.replicas, self.keys),
            "interval_max_over_mean": float(self.interval_balances.max(initial=1.0)),
            "interval_replicas": int(self.interval_replicas.sum()),
            "seconds": self.seconds,
            "messages_per_second": messages / self.seconds if self.seconds else 0.0,
        }


def count(
    partitioner: Partitioner,
    stream: Stream,
    sources: int = 1,
    source_by: SourceBy = "turn",
    progress: Callable[[int], None] = lambda rows: None,
    *,
    replicas: bool = True,
    checkpoints: int = CHECKPOINTS,
) -> CountingResult:
    """Route a stream and count. Memory grows with the replicas, not with the stream.

    `progress` is called with the number of rows done since the last call. Without `replicas` only
    loads are counted, several times as fast; keys, replicas and intervals then are none.

    >>> from unskew.partitioners import PartialKey
    >>> from unskew.workloads import ZipfStream
    >>> result = count(PartialKey(workers=5), ZipfStream(1.0, keys=1000, messages=50_000))
    >>> round(result.as_dict()["max_over_mean"], 3)
    1.0
    """
    routing = Sources(partitioner, sources, source_by)
    partitioner.router().route(np.empty(0, dtype=np.uint64))  # compiling is not routing
    loads = np.zeros(partitioner.workers, dtype=np.int64)
    keys, pairs = PairSet(), PairSet()
    marks = _checkpoints(stream.messages, checkpoints)
    intervals = _Intervals(stream.messages, partitioner.workers)
    stops = np.union1d(marks, _report_points(partitioner, stream.messages))
    if replicas:
        stops = np.union1d(stops, intervals.ends)
    at_mark, imbalances, seconds = set(marks.tolist()), [], 0.0
    for piece in _pieces(stream.chunks(), stops):
        started = time.perf_counter()
        workers = routing.route(piece)
        seconds += time.perf_counter() - started
        loads += np.bincount(workers, minlength=loads.size)
        if replicas:
            keys.add(piece, np.zeros(piece.size, dtype=np.int32))
            pairs.add(piece, workers)
            intervals.add(piece, workers)
        if routing.rows in at_mark:
            imbalances.append(float(loads.max() - loads.mean()))
        if partitioner.report_every and routing.rows % partitioner.report_every == 0:
            routing.report(loads.copy())
        progress(piece.size)
    return CountingResult(
        partitioner,
        sources,
        loads,
        keys.size,
        pairs.size,
        np.array(imbalances),
        marks[: len(imbalances)],
        seconds,
        np.array(intervals.balances),
        np.array(intervals.replicas, dtype=np.int64),
    )


class _Intervals:
    """Counts loads and replicas within each interval, as if workers were emptied at its end."""

    def __init__(self, messages: int, workers: int) -> None:
        length = max(-(-messages // INTERVALS), 1)
        self.ends = np.append(np.arange(length, messages, length, dtype=np.int64), messages)
        self.balances: list[float] = []
        self.replicas: list[int] = []
        self._rows = 0
        self._loads = np.zeros(workers, dtype=np.int64)
        self._pairs = PairSet()

    def add(self, keys: KeyHashes, workers: WorkerIds) -> None:
        """Count a piece that crosses the end of no interval."""
        self._rows += keys.size
        self._loads += np.bincount(workers, minlength=self._loads.size)
        self._pairs.add(keys, workers)
        if self._rows == self.ends[len(self.balances)]:
            self.balances.append(max_over_mean(self._loads))
            self.replicas.append(self._pairs.size)
            self._loads[:] = 0
            self._pairs = PairSet()


def _checkpoints(messages: int, number: int) -> NDArray[np.int64]:
    spaced = np.arange(1, number + 1, dtype=np.int64) * messages // number
    return np.unique(spaced[spaced > 0])


def _report_points(partitioner: Partitioner, messages: int) -> NDArray[np.int64]:
    every = partitioner.report_every
    return np.arange(every, messages, every, dtype=np.int64) if every else np.empty(0, np.int64)


def _pieces(chunks: Iterator[KeyHashes], stops: NDArray[np.int64]) -> Iterator[KeyHashes]:
    """Cut the chunks so that a piece ends at every stop."""
    done = 0
    for chunk in chunks:
        first, last = np.searchsorted(stops, [done, done + chunk.size], side="right")
        yield from (part for part in np.split(chunk, stops[first:last] - done) if part.size)
        done += chunk.size
