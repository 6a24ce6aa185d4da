"""Signals travel only with acknowledgements, and consistent grouping lives by them."""

import numpy as np
import pytest

from unskew.errors import ParameterError
from unskew.partitioners import ConsistentGrouping, KeyGrouping, ShuffleGrouping
from unskew.simulator.arrivals import Traffic
from unskew.simulator.cluster import Cluster
from unskew.simulator.queueing import simulate_queueing
from unskew.simulator.signalling import SignalBoard, Signalling
from unskew.simulator.workers import Workers
from unskew.workloads import ZipfStream


def test_a_source_hears_a_worker_only_with_the_acknowledgement_of_its_own_row() -> None:
    workers = Workers(np.array([1.0, 1.0]), sources=2)
    routers = [ConsistentGrouping(2, virtual=10).router() for _ in range(2)]
    board = SignalBoard(Signalling(slot=10.0), workers, routers)
    # Twelve rows of source 0 and 1 to worker 0; nothing goes to worker 1.
    workers.accept(np.zeros(12), np.zeros(12, dtype=np.int32), np.ones(1), first_source=0)
    board.end_slot(10.0)
    assert workers.signals.state.tolist() == [1, -1]
    board.deliver(11.0)
    assert [list(router.busy) for router in routers] == [[0], []]
    board.deliver(12.0)
    assert [list(router.busy) for router in routers] == [[0], [0]]
    board.deliver(20.0)
    assert board.delivered == 2
    assert board.waiting  # worker 1 has no row of theirs to acknowledge
    assert all(np.bincount(router.owners).tolist() == [10, 10] for router in routers)


def test_a_signal_counts_once_a_slot() -> None:
    workers = Workers(np.array([1.0]), sources=1)
    router = ConsistentGrouping(1).router()
    board = SignalBoard(Signalling(slot=10.0), workers, [router])
    workers.accept(np.zeros(40), np.zeros(40, dtype=np.int32), np.ones(1), first_source=0)
    board.end_slot(10.0)
    for now in range(11, 20):
        board.deliver(float(now))
    assert board.delivered == 1
    assert not board.waiting


def run(partitioner, capacities="3x5", sources=1, rows=1_500_000, **options):
    stream = ZipfStream(1.0, keys=10_000, messages=rows)
    cluster = Cluster.parse(capacities, partitioner.workers)
    return simulate_queueing(stream.chunks(), partitioner, cluster, sources=sources, **options)


def test_consistent_grouping_levels_unequal_machines() -> None:
    levelled = run(ConsistentGrouping(10, virtual=20))
    assert np.median([s.spread for s in levelled.samples[-12:]]) < 0.25
    for scheme in (KeyGrouping, ShuffleGrouping):
        other = run(scheme(10))
        assert other.samples[-1].spread > 1
        assert other.queue.sum() > 100 * levelled.queue.sum()


def test_virtual_workers_are_moved_but_never_made_or_lost() -> None:
    result = run(ConsistentGrouping(10, virtual=20), sources=3)
    counts = [sample.virtual for sample in result.samples]
    assert all(count.sum() == 3 * 200 for count in counts)
    assert counts[-1][:3].min() > 2 * counts[-1][3:].max()


def test_sources_keep_maps_of_their_own() -> None:
    one, many = (run(ConsistentGrouping(10, virtual=20), sources=s) for s in (1, 5))
    assert many.signals_delivered > 3 * one.signals_delivered
    assert np.median([s.spread for s in many.samples[-12:]]) < 0.25


def test_signals_by_queue_length() -> None:
    signalling = Signalling(by="queue", queue_capacity=100, slot=30.0)
    result = run(ConsistentGrouping(10, virtual=20), signalling=signalling)
    assert result.samples[-1].virtual[:3].min() > result.samples[-1].virtual[3:].max()


def test_no_signals_on_level_machines() -> None:
    result = run(ConsistentGrouping(10), "equal", rows=300_000)
    assert result.signals_raised == 0
    assert result.samples[-1].virtual.tolist() == [20] * 10


@pytest.mark.parametrize("wrong", [{"slot": 0.0}, {"idle": 0.9}, {"by": "mood"}])
def test_wrong_settings_are_refused(wrong) -> None:
    with pytest.raises(ParameterError):
        Signalling(**wrong)


def test_wrong_traffic_is_refused() -> None:
    with pytest.raises(ParameterError, match="rate=0"):
        Traffic(rate=0)
    with pytest.raises(ParameterError, match="per-key"):
        Traffic(service="sometimes")


def test_while_all_are_above_the_busy_threshold_queues_do_not_grow() -> None:
    """At 88 % load everybody is busy: the last clause of section V-A keeps moving them."""
    result = run(ConsistentGrouping(10), rows=3_000_000, traffic=Traffic(rate=0.88))
    assert result.queue.max() < 100


def test_eager_workers_follow_machines_that_change() -> None:
    slow, fast = (
        run(ConsistentGrouping(10, virtual=100, eager=eager), "3x5; 5x4@700000")
        for eager in (False, True)
    )
    peaks = [max(int(each.queue.max()) for each in found.samples) for found in (slow, fast)]
    assert peaks[1] < 0.5 * peaks[0]
