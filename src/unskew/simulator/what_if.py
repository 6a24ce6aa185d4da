"""What-if simulation: a scheme on a stream and given machines, as one flat document."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from unskew.kernels import KeyHashes
from unskew.metrics import imbalance, max_over_mean, replication
from unskew.partitioners import Partitioner
from unskew.simulator.arrivals import Traffic
from unskew.simulator.cluster import Cluster
from unskew.simulator.queueing import QueueingResult, simulate_queueing
from unskew.simulator.signalling import Signalling
from unskew.sketches.key_table import PairSet
from unskew.workloads import Stream

SAMPLES = 500
END = 0.1
"""The last tenth of a run is its end: shorter is noisy, longer still converging."""


def what_if(
    partitioner: Partitioner,
    stream: Stream,
    cluster: Cluster,
    traffic: Traffic,
    sources: int = 1,
    aggregate_every: float | None = None,
    progress: Callable[[int], None] = lambda rows: None,
    signalling: Signalling | None = None,
) -> dict[str, object]:
    """Simulate with queues; the fields of routing alone, and those that need time.

    `utilisation_spread` is the highest less the lowest utilisation of a worker at the end;
    `partial_states` are those that workers sent to an aggregator, every so many seconds.

    >>> from unskew.partitioners import ShuffleGrouping
    >>> from unskew.workloads import ZipfStream
    >>> stream = ZipfStream(1.0, keys=100, messages=50_000)
    >>> found = what_if(ShuffleGrouping(4), stream, Cluster.parse("2x3", 4), Traffic())
    >>> found["messages"], round(found["utilisation_max"], 2)
    (50000, 1.6)
    """
    keys = PairSet()
    seconds = stream.messages / (traffic.rate * cluster.total)
    signalling = signalling or Signalling()
    started = time.perf_counter()
    result = simulate_queueing(
        _watched(stream, keys, progress),
        partitioner,
        cluster,
        traffic,
        sources=sources,
        signalling=signalling,
        sample_every=max(signalling.slot, seconds / SAMPLES),
        aggregate_every=aggregate_every,
    )
    took = time.perf_counter() - started
    return {
        "scheme": partitioner.scheme,
        "workers": partitioner.workers,
        "sources": sources,
        "messages": result.messages,
        "keys": keys.size,
        "max_over_mean": max_over_mean(result.loads),
        "imbalance": imbalance(result.loads),
        "imbalance_average": _average(result),
        "replicas": result.replicas,
        "replication": replication(result.replicas, keys.size),
        "seconds": took,
        "messages_per_second": result.messages / took,
        **_of_time(result, traffic, cluster),
    }


def _of_time(result: QueueingResult, traffic: Traffic, cluster: Cluster) -> dict[str, object]:
    end = result.samples[-max(1, round(END * len(result.samples))) :]
    utilisation = np.mean([sample.utilisation for sample in end], axis=0) if end else np.zeros(1)
    return {
        "rate": traffic.rate,
        "service": traffic.service,
        "capacity": cluster.total,
        "throughput": result.throughput,
        "latency_mean": result.latency_mean,
        "latency_p50": result.latency_p50,
        "latency_p99": result.latency_p99,
        "waiting": int(result.queue.sum()),
        "queue_max": int(result.queue.max()),
        "utilisation_max": float(utilisation.max()),
        "utilisation_min": float(utilisation.min()),
        "utilisation_spread": float(utilisation.max() - utilisation.min()),
        "signals": result.signals_delivered,
        "partial_states": result.partial_states,
        "partial_states_held": result.largest_flush,
    }


def _average(result: QueueingResult) -> float:
    """The mean over all samples of (highest - mean load), as a share of all messages."""
    above = [float(sample.loads.max() - sample.loads.mean()) for sample in result.samples]
    return float(np.mean(above)) / result.messages if above else 0.0


def _watched(stream: Stream, keys: PairSet, progress: Callable[[int], None]) -> Iterator[KeyHashes]:
    for chunk in stream.chunks():
        keys.add(chunk, np.zeros(chunk.size, dtype=np.int32))
        yield chunk
        progress(chunk.size)
