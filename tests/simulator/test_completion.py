"""Completion times, against a plain event loop over the real routers and trackers."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.hashing import hash_ids
from unskew.partitioners import FullKnowledge, Proactive, ShuffleGrouping, WorkerReport
from unskew.partitioners.full_knowledge import KeyCosts
from unskew.simulator.completion import CostlyRows, complete


def example() -> tuple[CostlyRows, KeyCosts]:
    keys = hash_ids(np.array([0, 1, 0]))
    costs = KeyCosts(keys[:2], np.array([10.0, 1.0]))
    return CostlyRows(keys, costs.of(keys), np.arange(3.0)), costs


def drawn(seed: int, rows: int, workers: int) -> CostlyRows:
    rng = np.random.default_rng(seed)
    ids = rng.zipf(1.6, rows) % 50
    costs = 1.0 + rng.integers(0, 20, 50)
    made = CostlyRows.at_rate(hash_ids(ids), costs[ids], workers)
    factors = rng.uniform(0.5, 1.5, (2, workers))
    return replace(made, factors=factors, changes=(rows // 2,))


def loop(posg: Proactive, rows: CostlyRows, sources: int = 1) -> np.ndarray:
    """One event after the other: completions up to a row's arrival, then the row."""
    routers = [posg.router(source, sources) for source in range(sources)]
    trackers = [posg.tracker(worker) for worker in range(posg.workers)]
    free, finish = np.zeros(posg.workers), np.empty(rows.keys.size)
    factors, phases = rows.factors_for(posg.workers), rows.phases()
    waiting: list[tuple[float, int, int]] = []
    requests = {}

    def done(now: float, worker: int, row: int) -> None:
        spent = np.array([rows.costs[row] * factors[phases[row], worker]])
        tracker = trackers[worker]
        for message in tracker.execute(rows.keys[row : row + 1], spent):
            for router in routers:
                router.learn(WorkerReport(costs=(message,)))
        if row in requests:
            reply = tracker.reply(requests[row], now if posg.clock == "finish" else None)
            routers[row % sources].learn(WorkerReport(costs=(reply,)))

    for row in range(rows.keys.size):
        while waiting and waiting[0][0] <= rows.arrivals[row]:
            done(*heapq.heappop(waiting))
        router = routers[row % sources]
        worker = int(router.route(rows.keys[row : row + 1])[0])
        for request in router.take_requests():
            assert request.worker == worker
            requests[row] = request
        cost = rows.costs[row] * factors[phases[row], worker]
        free[worker] = max(rows.arrivals[row], free[worker]) + cost
        finish[row] = free[worker]
        heapq.heappush(waiting, (finish[row], worker, row))
    return finish


def test_the_papers_example():
    rows, costs = example()
    assert complete(ShuffleGrouping(2), rows).times.sum() == 29.0
    assert complete(FullKnowledge(2, costs), rows).times.sum() == 21.0


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    workers=st.integers(1, 4),
    window=st.integers(1, 30),
    clock=st.sampled_from(["spent", "finish"]),
    resync=st.none() | st.integers(0, 60),
)
def test_the_compiled_run_is_the_event_loop(seed, workers, window, clock, resync):
    posg = Proactive(workers, window, tolerance=0.3, epsilon=0.3, clock=clock, resync=resync)
    rows = drawn(seed, 400, workers)
    np.testing.assert_array_equal(complete(posg, rows).finish, loop(posg, rows))


def test_several_sources_that_share_nothing_all_gain():
    rows = replace(drawn(3, 6000, 4), factors=None, changes=())
    posg = Proactive(4, window=64, tolerance=0.3)
    robin = complete(ShuffleGrouping(4), rows).mean
    assert (loop(posg, rows, sources=3) - rows.arrivals).mean() < robin


def test_recovers_after_worker_speeds_change():
    """The paper's figure 10, smaller: learned speeds turn round in the middle."""
    ids = np.concatenate([np.arange(8)] * 5000)
    rows = CostlyRows.at_rate(hash_ids(ids), 1.0 + ids * 2.0, 2, provisioning=1.05)
    rows = replace(rows, factors=np.array([[1.2, 0.8], [0.8, 1.2]]), changes=(20_000,))
    posg, robin = complete(Proactive(2, window=256), rows), complete(ShuffleGrouping(2), rows)
    assert posg.left is not None
    assert posg.started is not None
    assert posg.left < posg.started < 2_000
    before, hit, after = (
        posg.times[first:last].mean()
        for first, last in ((5_000, 20_000), (20_000, 21_500), (35_000, 40_000))
    )
    assert hit > 1.5 * before
    assert after < 1.5 * before
    assert after < robin.times[35_000:].mean() / 5
    assert posg.heard is not None
    assert ((posg.heard > 20_000) & (posg.heard < 23_000)).any()


def test_counts_its_messages():
    result = complete(Proactive(2, window=8, tolerance=1e9), drawn(1, 400, 2))
    assert result.heard is not None
    replies = result.messages - result.heard.size
    assert 0 < replies <= 2 * (result.heard.size + 400 // 16)  # both answer when all are asked
    assert complete(ShuffleGrouping(2), drawn(1, 400, 2)).messages == 0


def test_no_rows_take_no_time():
    none = CostlyRows.at_rate(hash_ids(np.arange(0)), np.empty(0), 2)
    for partitioner in (ShuffleGrouping(2), Proactive(2)):
        assert (complete(partitioner, none).mean, complete(partitioner, none).makespan) == (0, 0)


def test_impossible_rows_are_refused():
    keys = hash_ids(np.arange(2))
    with pytest.raises(ParameterError, match="lengths"):
        CostlyRows(keys, np.ones(3), np.zeros(2))
    with pytest.raises(ParameterError, match="order"):
        CostlyRows(keys, np.ones(2), np.array([1.0, 0.0]))
    with pytest.raises(ParameterError, match="factors"):
        CostlyRows(keys, np.ones(2), np.zeros(2), changes=(1,))
    with pytest.raises(ParameterError, match="workers"):
        complete(ShuffleGrouping(3), CostlyRows(keys, np.ones(2), np.zeros(2), np.ones((1, 2))))
