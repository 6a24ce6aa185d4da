"""The measurements that papers share: a stream routed, and a stream on machines with queues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unskew.kernels import KeyHashes
from unskew.metrics import imbalance, max_over_mean
from unskew.partitioners import OfflineGreedy, Partitioner
from unskew.simulator.arrivals import Traffic
from unskew.simulator.cluster import Cluster
from unskew.simulator.counting import CountingResult, count
from unskew.simulator.queueing import simulate_queueing
from unskew.simulator.signalling import Signalling
from unskew.simulator.timeline import Sample
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import FileStream, Stream
from unskew_lab.papers.specification import Row, Value

KEPT_SAMPLES = 240
LEVEL_CHECKPOINTS = 200


@dataclass(frozen=True, slots=True)
class Repeated:
    """A stream read over and over until it has given `messages` rows."""

    stream: Stream
    messages: int

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        left = self.messages
        while left:
            for chunk in self.stream.chunks():
                yield chunk[:left]
                left -= min(left, chunk.size)
                if not left:
                    return


def real(path: Path) -> FileStream:
    """A real key stream: its column `key`."""
    return FileStream(path, ("key",))


@dataclass(frozen=True, slots=True)
class Routed:
    """Route a stream and count, without time."""

    name: str
    stream: Stream
    scheme: str
    """The paper's name for it."""
    partitioner: Partitioner
    sources: int = 1
    replicas: bool = True
    """Whether memory is counted too: without, it is several times as fast."""

    def run(self) -> CountingResult:
        """Route the stream; a scheme that plans from key counts gets them first."""
        partitioner = self.partitioner
        if isinstance(partitioner, OfflineGreedy):
            partitioner = replace(partitioner, counts=KeyCounts.of(self.stream.chunks()))
        if self.replicas:
            return count(partitioner, self.stream, self.sources)
        marks = LEVEL_CHECKPOINTS
        return count(partitioner, self.stream, self.sources, replicas=False, checkpoints=marks)

    def measure(self) -> Sequence[Row]:
        """One row."""
        return [self.row(self.run())]

    def row(self, result: CountingResult) -> dict[str, str | int | float | bool]:
        """The columns that all figures of this kind have."""
        messages = result.messages
        return {
            "stream": self.name,
            "scheme": self.scheme,
            "workers": result.loads.size,
            "sources": self.sources,
            "messages": messages,
            "keys": result.keys,
            "above_mean": max_over_mean(result.loads) - 1,
            "imbalance": imbalance(result.loads),
            "imbalance_average": float(result.imbalances.mean()) / messages,
            "replicas": result.replicas,
            "memory": result.replicas / messages,
        }


@dataclass(frozen=True, slots=True)
class Queued:
    """Send a stream to machines with queues and sample them over time."""

    name: str
    stream: Stream
    scheme: str
    partitioner: Partitioner
    cluster: Cluster
    traffic: Traffic = field(default_factory=Traffic)
    sources: int = 1
    signalling: Signalling = field(default_factory=Signalling)

    def run(self) -> list[Sample]:
        """Simulate, with a sample a slot."""
        return simulate_queueing(
            self.stream.chunks(),
            self.partitioner,
            self.cluster,
            self.traffic,
            sources=self.sources,
            signalling=self.signalling,
            sample_every=self.signalling.slot,
        ).samples

    def measure(self) -> Sequence[Row]:
        """Up to 240 samples of a slot each, equally spaced, the last one included.

        `settled` is the spread of the utilisations over the last tenth, taken as a whole.
        """
        samples = self.run()
        end = samples[-max(1, round(0.1 * len(samples))) :]
        utilisation = np.mean([sample.utilisation for sample in end], axis=0)
        settled = float(utilisation.max() - utilisation.min())
        peak = max(int(sample.queue.max()) for sample in samples)
        kept = np.linspace(0, len(samples) - 1, min(KEPT_SAMPLES, len(samples)))
        return [
            {**self._row(samples[int(i)]), "settled": settled, "peak": peak} for i in np.rint(kept)
        ]

    def _row(self, sample: Sample) -> dict[str, Value]:
        queue, latency = sample.queue, sample.latency
        return {
            "stream": self.name,
            "scheme": self.scheme,
            "hours": sample.time / 3600,
            "messages": sample.messages,
            "queue_max": int(queue.max()),
            "queue_spread": int(queue.max() - queue.min()),
            "latency_spread": float(latency.max() - latency.min()),
            "latency_mean": sample.latency_mean,
            "latency_p50": sample.latency_p50,
            "latency_p99": sample.latency_p99,
            "utilisation_spread": sample.spread,
            "imbalance": sample.imbalance,
            "throughput": sample.throughput,
            "replicas": sample.replicas,
        }
