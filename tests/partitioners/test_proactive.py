"""Scheduling by cost: both state machines through every arrow of the paper's figures 2 and 3."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.partitioners import FullKnowledge, Proactive, WorkerReport
from unskew.partitioners.cost_messages import StableCosts, TimeReply, TimeRequest
from unskew.partitioners.cost_tracking import CostTracker, TrackerState
from unskew.partitioners.full_knowledge import KeyCosts
from unskew.partitioners.proactive import ProactiveRouter, SchedulerState
from unskew.sketches.cost_pair import CostPair, CostShape

COSTLY, CHEAP = np.uint64(11), np.uint64(22)
SHAPE = CostShape()


def rows(*keys: np.uint64) -> np.ndarray:
    return np.array(keys, dtype=np.uint64)


def known(costly: float = 10.0, cheap: float = 1.0) -> CostPair:
    pair = CostPair(SHAPE)
    pair.add(rows(COSTLY, CHEAP), np.array([costly, cheap]))
    return pair


def tell(router: ProactiveRouter, *messages: StableCosts | TimeReply) -> None:
    router.learn(WorkerReport(costs=messages))


def sending_router(workers: int = 2) -> ProactiveRouter:
    router = Proactive(workers).router()
    tell(router, *(StableCosts(worker, known()) for worker in range(workers)))
    return router


def tracker(window: int = 2, tolerance: float = 0.05) -> CostTracker:
    return CostTracker(0, window, tolerance, SHAPE)


class TestTracker:
    def test_starts_and_stays_until_the_window_is_full(self):
        worker = tracker()
        assert worker.execute(rows(CHEAP), np.array([1.0])) == []
        assert worker.state is TrackerState.START

    def test_a_full_window_takes_a_snapshot(self):  # figure 2, A
        worker = tracker()
        assert worker.execute(rows(COSTLY, CHEAP), np.array([10.0, 1.0])) == []
        assert worker.state is TrackerState.STABILIZING

    def test_cells_that_moved_take_a_new_snapshot(self):  # figure 2, B
        worker = tracker()
        worker.execute(rows(COSTLY, CHEAP), np.array([10.0, 1.0]))
        assert worker.execute(rows(COSTLY, CHEAP), np.array([30.0, 1.0])) == []
        assert worker.state is TrackerState.STABILIZING
        # 20 and 1 are now the snapshot: a repetition of these means is stable.
        (sent,) = worker.execute(rows(COSTLY, CHEAP), np.array([20.0, 1.0]))
        assert sent.pair.estimate(rows(COSTLY)).tolist() == [20.0]

    def test_stable_cells_are_sent_and_forgotten(self):  # figure 2, C
        worker = tracker()
        worker.execute(rows(COSTLY, CHEAP), np.array([10.0, 1.0]))
        (sent,) = worker.execute(rows(COSTLY, CHEAP), np.array([10.0, 1.0]))
        assert (sent.worker, sent.pair.rows) == (0, 4)
        assert worker.state is TrackerState.START
        assert worker.memory.counts.sum() == 0
        assert worker.spent == 22.0  # the clock goes on

    @given(cut=st.integers(0, 40), seed=st.integers(0, 99))
    def test_cutting_the_rows_changes_nothing(self, cut, seed):
        rng = np.random.default_rng(seed)
        keys, costs = rng.integers(0, 3, 40).astype(np.uint64), rng.integers(1, 3, 40) * 1.0
        whole, parts = tracker(4, 0.3), tracker(4, 0.3)
        sent = parts.execute(keys[:cut], costs[:cut]) + parts.execute(keys[cut:], costs[cut:])
        assert sent == whole.execute(keys, costs)

    def test_replies_with_its_own_time_or_the_time_of_day(self):
        worker = tracker()
        worker.execute(rows(CHEAP), np.array([3.0]))
        request = TimeRequest(worker=0, row=0, epoch=7, estimate=1.0)
        assert worker.reply(request) == TimeReply(0, 7, 2.0)
        assert worker.reply(request, now=10.0) == TimeReply(0, 7, 9.0)


class TestScheduler:
    def test_deals_in_turn_while_a_worker_is_unknown(self):  # figure 3, A
        router = Proactive(3).router()
        tell(router, StableCosts(0, known()), StableCosts(2, known()), StableCosts(0, known()))
        assert router.state is SchedulerState.ROUND_ROBIN
        assert router.route(rows(COSTLY, COSTLY, COSTLY, COSTLY)).tolist() == [0, 1, 2, 0]
        assert router.take_requests() == ()

    def test_asks_every_worker_once_all_are_known(self):  # figure 3, B and C
        router = sending_router()
        assert router.state is SchedulerState.SEND_ALL
        assert router.route(rows(COSTLY)).tolist() == [0]
        assert router.state is SchedulerState.SEND_ALL
        assert router.route(rows(CHEAP)).tolist() == [1]
        assert router.state is SchedulerState.WAIT_ALL
        assert router.take_requests() == (
            TimeRequest(worker=0, row=0, epoch=1, estimate=10.0),
            TimeRequest(worker=1, row=1, epoch=1, estimate=1.0),
        )

    def test_schedules_by_estimates_while_it_waits(self):  # figure 3, D
        router = sending_router()
        router.route(rows(COSTLY, CHEAP))
        tell(router, TimeReply(0, 1, 100.0))
        assert router.state is SchedulerState.WAIT_ALL
        # One reply is not all: worker 0 still counts 10, not 110.
        assert router.route(rows(*[CHEAP] * 11)).tolist() == [1] * 9 + [0, 1]

    def test_corrects_all_estimates_with_the_last_reply(self):  # figure 3, E
        router = sending_router()
        router.route(rows(COSTLY, CHEAP))
        tell(router, TimeReply(0, 1, -9.5), TimeReply(1, 1, 4.0))
        assert router.state is SchedulerState.RUN
        np.testing.assert_allclose(router.memory.estimates, [0.5, 5.0])
        assert router.route(rows(CHEAP)).tolist() == [0]

    @pytest.mark.parametrize("state", ["SEND_ALL", "WAIT_ALL", "RUN"])
    def test_new_matrices_start_another_round(self, state):  # figure 3, F
        router = sending_router()
        if state != "SEND_ALL":
            router.route(rows(COSTLY, CHEAP))
        if state == "RUN":
            tell(router, TimeReply(0, 1, 0.0), TimeReply(1, 1, 0.0))
        assert router.state.name == state
        tell(router, StableCosts(1, known(costly=50.0)))
        assert router.state is SchedulerState.SEND_ALL
        router.take_requests()
        assert router.route(rows(COSTLY, COSTLY)).tolist() == [0, 1]
        first, second = router.take_requests()
        assert (first.epoch, second.epoch) == (2, 2)

    @pytest.mark.parametrize("sources", [1, 2])
    def test_asks_again_after_a_window_of_every_worker_without_news(self, sources):
        router = Proactive(2, window=4).router(0, sources)
        tell(router, StableCosts(0, known()), StableCosts(1, known()))
        router.route(rows(CHEAP, CHEAP))
        tell(router, TimeReply(0, 1, 0.0), TimeReply(1, 1, 0.0))
        router.take_requests()
        quiet = 8 // sources
        router.route(rows(*[CHEAP] * (quiet + 3)))
        first, second = router.take_requests()
        assert (first.row, second.row) == (2 + quiet, 3 + quiet)
        assert (first.epoch, first.worker, second.worker) == (2, 0, 1)
        assert router.state is SchedulerState.WAIT_ALL

    def test_never_asks_without_news_if_told_so(self):
        router = Proactive(2, window=1, resync=0, learned=known().learned()).router()
        router.route(rows(*[CHEAP] * 50))
        assert router.take_requests() == ()
        assert router.state is SchedulerState.RUN
        with pytest.raises(ParameterError, match="resync"):
            Proactive(2, resync=-1)

    def test_replies_to_an_older_round_are_ignored(self):
        router = sending_router()
        router.route(rows(COSTLY, CHEAP))
        tell(router, TimeReply(0, 1, 5.0), StableCosts(0, known()))
        router.route(rows(CHEAP, CHEAP))
        before = router.memory.estimates.copy()
        tell(router, TimeReply(0, 1, 99.0), TimeReply(1, 1, 99.0))
        assert router.state is SchedulerState.WAIT_ALL
        np.testing.assert_array_equal(router.memory.estimates, before)

    def test_costs_are_each_workers_own(self):
        router = Proactive(2).router()
        tell(router, StableCosts(0, known(cheap=4.0)), StableCosts(1, known(cheap=1.0)))
        workers = router.route(rows(*[CHEAP] * 100))
        assert np.bincount(workers).tolist() == [20, 80]

    def test_every_source_has_its_own_estimates(self):
        posg = Proactive(2)
        one, other = posg.router(0, 2), posg.router(1, 2)
        assert (one.route(rows(CHEAP)).tolist(), other.route(rows(CHEAP)).tolist()) == ([0], [1])
        tell(one, StableCosts(0, known()), StableCosts(1, known()))
        assert other.state is SchedulerState.ROUND_ROBIN

    @given(cut=st.integers(0, 30))
    def test_cutting_the_rows_changes_neither_routes_nor_requests(self, cut):
        keys = np.random.default_rng(1).choice(rows(COSTLY, CHEAP), 30)
        whole, parts = sending_router(7), sending_router(7)
        routes = np.concatenate([parts.route(keys[:cut]), parts.route(keys[cut:])])
        np.testing.assert_array_equal(routes, whole.route(keys))
        assert parts.take_requests() == whole.take_requests()


def test_learned_costs_spare_the_round_robin_and_sources_begin_apart():
    posg = Proactive(4, learned=known().learned())
    assert posg.router().state is SchedulerState.RUN
    begun = [posg.router(source, 4).route(rows(COSTLY)).tolist() for source in range(4)]
    assert begun == [[0], [1], [2], [3]]
    workers = posg.router().route(np.tile(rows(COSTLY, *[CHEAP] * 10), 40))
    spent = np.bincount(workers, np.tile([10.0] + [1.0] * 10, 40))
    assert spent.max() - spent.min() <= 10


def test_matrices_of_another_size_are_refused():
    with pytest.raises(ParameterError, match="cells"):
        Proactive(2, epsilon=0.5, learned=known().learned())


@pytest.mark.parametrize("wrong", [{"window": 0}, {"tolerance": -1.0}, {"clock": "sun"}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ParameterError):
        Proactive(2, **wrong)


@settings(max_examples=60)
@given(
    costs=st.lists(st.integers(1, 50), min_size=1, max_size=7),
    workers=st.integers(1, 4),
)
def test_greedy_is_at_most_two_minus_one_over_k_times_the_optimum(costs, workers):
    """Theorem 4.2."""
    keys = np.arange(len(costs)).astype(np.uint64)
    weights = np.array(costs, dtype=np.float64)
    routed = FullKnowledge(workers, KeyCosts(keys, weights)).router().route(keys)
    greedy = np.bincount(routed, weights).max()
    best = min(
        np.bincount(choice, weights).max() for choice in product(range(workers), repeat=len(costs))
    )
    assert greedy <= (2 - 1 / workers) * best + 1e-9


def test_full_knowledge_respects_the_speed_of_workers_and_guesses_unknown_keys():
    costs = KeyCosts(rows(COSTLY, CHEAP), np.array([10.0, 2.0]))
    fast = FullKnowledge(2, costs, factors=np.array([1.0, 3.0]))
    assert np.bincount(fast.router().route(rows(*[CHEAP] * 100))).tolist() == [75, 25]
    assert costs.of(rows(np.uint64(99))).tolist() == [6.0]
    with pytest.raises(ParameterError, match="factors"):
        FullKnowledge(2, costs, factors=np.array([1.0]))
    with pytest.raises(ParameterError, match="negative"):
        KeyCosts(rows(COSTLY), np.array([-1.0]))
