"""Routing without time: how many rows each worker gets, and on how many workers each key is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenkeel.metrics import imbalance, max_over_mean, replication
from evenkeel.partitioners import Partitioner
from evenkeel.partitioners.contract import KeyHashes
from evenkeel.simulator.sources import SourceBy, Sources
from evenkeel.sketches.key_table import PairSet
from evenkeel.workloads import Stream

CHECKPOINTS = 1000


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

    @property
    def messages(self) -> int:
        """How many rows were routed."""
        return int(self.loads.sum())

    def as_dict(self) -> dict[str, object]:
        """The fields of `evenkeel simulate --json`."""
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
            "seconds": self.seconds,
            "messages_per_second": messages / self.seconds if self.seconds else 0.0,
        }


def count(
    partitioner: Partitioner,
    stream: Stream,
    sources: int = 1,
    source_by: SourceBy = "turn",
    progress: Callable[[int], None] = lambda rows: None,
) -> CountingResult:
    """Route a stream and count. Memory grows with the replicas, not with the stream.

    `progress` is called with the number of rows done since the last call.

    >>> from evenkeel.partitioners import PartialKey
    >>> from evenkeel.workloads import ZipfStream
    >>> result = count(PartialKey(workers=5), ZipfStream(1.0, keys=1000, messages=50_000))
    >>> round(result.as_dict()["max_over_mean"], 3)
    1.0
    """
    routing = Sources(partitioner, sources, source_by)
    partitioner.router().route(np.empty(0, dtype=np.uint64))  # compiling is not routing
    loads = np.zeros(partitioner.workers, dtype=np.int64)
    keys, replicas = PairSet(), PairSet()
    marks = _checkpoints(stream.messages)
    stops = np.union1d(marks, _report_points(partitioner, stream.messages))
    at_mark, imbalances, seconds = set(marks.tolist()), [], 0.0
    for piece in _pieces(stream.chunks(), stops):
        started = time.perf_counter()
        workers = routing.route(piece)
        seconds += time.perf_counter() - started
        loads += np.bincount(workers, minlength=loads.size)
        keys.add(piece, np.zeros(piece.size, dtype=np.int32))
        replicas.add(piece, workers)
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
        replicas.size,
        np.array(imbalances),
        marks[: len(imbalances)],
        seconds,
    )


def _checkpoints(messages: int) -> NDArray[np.int64]:
    spaced = np.arange(1, CHECKPOINTS + 1, dtype=np.int64) * messages // CHECKPOINTS
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
