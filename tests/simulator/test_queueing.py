"""The queues against theory, against a plain loop, and against themselves cut otherwise."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.partitioners import (
    ConsistentGrouping,
    KeyGrouping,
    PartialKey,
    ShuffleGrouping,
)
from unskew.simulator.arrivals import Traffic
from unskew.simulator.cluster import Cluster, Phase
from unskew.simulator.queueing import QueueingResult, simulate_queueing

ONE = Cluster.equal(1, mean=1.0)


def keys(count: int, of: int = 50, seed: int = 0) -> np.ndarray:
    ids = np.random.default_rng(seed).zipf(1.5, count) % of
    return (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)


def one_worker(rate: float, service: str, rows: int = 400_000) -> QueueingResult:
    stream = np.arange(rows, dtype=np.uint64)
    traffic = Traffic(rate=rate, service=service, poisson=True)
    return simulate_queueing([stream], KeyGrouping(1), ONE, traffic, sample_every=10_000.0)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_worker_with_constant_service_waits_as_m_d_1(load: float) -> None:
    result = one_worker(load, "constant")
    assert result.latency_mean == pytest.approx(1 + load / (2 * (1 - load)), rel=0.03)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_worker_with_exponential_service_waits_as_m_m_1(load: float) -> None:
    result = one_worker(load, "per-row")
    assert result.latency_mean == pytest.approx(1 / (1 - load), rel=0.05)
    assert result.latency_p50 == pytest.approx(np.log(2) / (1 - load), rel=0.05)
    assert result.latency_p99 == pytest.approx(np.log(100) / (1 - load), rel=0.1)


@pytest.mark.parametrize("service", ["constant", "per-key", "per-row"])
def test_littles_law(service: str) -> None:
    traffic = Traffic(rate=0.6, service=service, poisson=True)
    result = simulate_queueing(
        [keys(200_000, of=5000)], PartialKey(5), traffic=traffic, sample_every=0.35
    )
    inside = np.mean([sample.queue.sum() for sample in result.samples])
    assert inside == pytest.approx(result.throughput * result.latency_mean, rel=0.05)


def by_hand(
    stream: np.ndarray, cluster: Cluster, rate: float
) -> tuple[list[int], float, list[int]]:
    """Key grouping at regular intervals, one row and one queue entry at a time."""
    workers = KeyGrouping(cluster.workers).router().route(stream)
    queues: list[deque[tuple[float, float]]] = [deque() for _ in range(cluster.workers)]
    done, latency = [0] * cluster.workers, 0.0
    phase, clock = 0, 0.0
    for i in range(len(stream) + 1):
        arrival = min(i, len(stream) - 1) / (rate * cluster.total)
        speeds = cluster.phases[phase].capacities
        for worker, queue in enumerate(queues):
            start = clock
            while queue:
                came, left = queue[0]
                start = max(start, came)
                if start + left / speeds[worker] > arrival:
                    served = max(arrival - start, 0.0) * speeds[worker]
                    queue[0] = (came, left - served)
                    break
                start += left / speeds[worker]
                latency += start - came
                done[worker] += 1
                queue.popleft()
        clock = arrival
        if phase + 1 < len(cluster.phases) and cluster.phases[phase + 1].after == i:
            phase += 1
        if i < len(stream):
            queues[workers[i]].append((arrival, 1.0))
    return done, latency, [len(queue) for queue in queues]


def test_agrees_with_a_plain_loop_when_speeds_change() -> None:
    stream = keys(2000, of=12)
    cluster = Cluster(
        (Phase(0, (3.0, 1.1, 1.7)), Phase(700, (1.0, 2.9, 2.2)), Phase(1500, (2.0, 2.0, 9.0)))
    )
    result = simulate_queueing([stream], KeyGrouping(3), cluster, Traffic(rate=0.9))
    done, latency, queue = by_hand(stream, cluster, 0.9)
    # A speed changes when the row before has arrived, one gap earlier than in the loop.
    assert abs(result.completed - sum(done)) <= 3
    assert result.latency_mean == pytest.approx(latency / sum(done), rel=0.01)
    np.testing.assert_allclose(result.queue, queue, atol=3)


def test_agrees_with_a_plain_loop_at_steady_speeds() -> None:
    stream = keys(3000, of=12)
    cluster = Cluster((Phase(0, (3.0, 1.1, 1.7)),))
    result = simulate_queueing([stream], KeyGrouping(3), cluster, Traffic(rate=0.9))
    done, latency, queue = by_hand(stream, cluster, 0.9)
    assert result.completed == sum(done)
    assert result.latency_mean == pytest.approx(latency / sum(done))
    assert result.queue.tolist() == queue


@given(
    workers=st.integers(1, 6),
    sources=st.integers(1, 4),
    rows=st.integers(0, 3000),
    rate=st.floats(0.1, 3.0),
    service=st.sampled_from(["constant", "per-key", "per-row"]),
    poisson=st.booleans(),
    scheme=st.sampled_from([KeyGrouping, PartialKey, ShuffleGrouping, ConsistentGrouping]),
)
@settings(max_examples=40)
def test_no_row_is_lost_or_served_twice(
    workers, sources, rows, rate, service, poisson, scheme
) -> None:
    if scheme is PartialKey:
        workers += 1
    result = simulate_queueing(
        [keys(rows)],
        scheme(workers),
        traffic=Traffic(rate, service, poisson),
        sources=sources,
        sample_every=7.0,
    )
    assert result.messages == rows == int(result.loads.sum())
    assert result.completed + int(result.queue.sum()) == rows
    assert (result.queue >= 0).all()


@given(cuts=st.lists(st.integers(0, 5000), max_size=6))
@settings(max_examples=20)
def test_cutting_the_stream_changes_nothing(cuts: list[int]) -> None:
    stream = keys(5000)
    cluster = Cluster.parse("1x5; 2x2@2500", workers=4)

    def run(chunks: list[np.ndarray]) -> QueueingResult:
        return simulate_queueing(
            chunks, ConsistentGrouping(4), cluster, sources=2, aggregate_every=10.0
        )

    whole, cut = run([stream]), run(np.split(stream, sorted(cuts)))
    assert whole.loads.tolist() == cut.loads.tolist()
    assert whole.latency_mean == pytest.approx(cut.latency_mean)
    assert whole.partial_states == cut.partial_states
    assert [s.time for s in whole.samples] == [s.time for s in cut.samples]


def test_partial_states_are_counted_per_flush() -> None:
    stream = np.tile(np.arange(4, dtype=np.uint64) << np.uint64(62), 100)
    result = simulate_queueing(
        [stream], KeyGrouping(1), Cluster.equal(1, 1.0), Traffic(rate=1.0), aggregate_every=40.0
    )
    assert result.largest_flush == 4
    assert result.partial_states == 10 * 4


def test_utilisation_is_relative_to_each_workers_own_capacity() -> None:
    result = simulate_queueing(
        [np.arange(200_000, dtype=np.uint64)],
        ShuffleGrouping(4),
        Cluster.parse("1x5", workers=4),
        Traffic(rate=0.8),
    )
    np.testing.assert_allclose(result.samples[-1].utilisation, [0.32, 1.6, 1.6, 1.6], rtol=0.01)


def test_a_cluster_of_another_size_is_refused() -> None:
    with pytest.raises(ParameterError, match="cluster has 3 workers, the partitioner 4"):
        simulate_queueing([], KeyGrouping(4), Cluster.equal(3))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1,2", "not for workers=3"),
        ("9x2", "9 is not in 0..workers=3"),
        ("2xfast", "'fast' is not a number"),
        ("1,0,1", "not for workers=3"),
        ("equal; 1x5@0", "the first must begin at 0"),
    ],
)
def test_bad_capacities_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Cluster.parse(text, workers=3)
