"""A replanned stream takes the fastest strategy, once its workers prove unequal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from unskew._spark.streaming.replan.planners import BatchOutcome
from unskew._spark.streaming.replan.trial import TRIAL, BestOfTrials, Strategy
from unskew.partitioners import KeyGrouping

EVEN, UNEVEN = [1.0, 1.0, 1.1, 0.9], [1.0, 1.0, 3.0, 1.0]
PLACES = ("first", "second", "third")


@dataclass
class Fixed:
    """A planner that only remembers."""

    workers: int = 4
    pinned: bool = False
    table_size: int = 0
    learned: list[BatchOutcome] = field(default_factory=list)

    def partitioner(self):
        return KeyGrouping(self.workers)

    def learn(self, outcome, counts):
        self.learned.append(outcome)


@pytest.fixture
def trial():
    return BestOfTrials([Strategy(name, Fixed()) for name in PLACES])


def batch(trial, seconds, took):
    outcome = BatchOutcome(np.array(seconds), np.full(len(seconds), 100.0), took)
    trial.learn(outcome, lambda: pytest.fail("nobody asked for counts"))


def try_all(trial, times):
    for took in times:
        for _ in range(TRIAL):
            batch(trial, UNEVEN, took)


def test_even_workers_keep_the_first_strategy(trial):
    for _ in range(20):
        batch(trial, EVEN, 1.0)
    # One bad batch is no reason.
    batch(trial, UNEVEN, 5.0)
    batch(trial, EVEN, 1.0)
    batch(trial, UNEVEN, 5.0)
    assert trial.now.name == "first"
    assert len(trial.now.planner.learned) == 23


@pytest.mark.parametrize(("times", "best"), [((3, 2, 4), "second"), ((3, 2, 1), "third"),
                                             ((1, 2, 3), "first")])  # fmt: skip
def test_all_strategies_are_tried_and_the_best_is_kept(trial, times, best):
    batch(trial, UNEVEN, 3.0)
    batch(trial, UNEVEN, 3.0)
    try_all(trial, times)
    assert trial.now.name == best
    for _ in range(10):
        batch(trial, UNEVEN, min(times) * 1.2)
    assert trial.now.name == best
    assert [len(each.planner.learned) for each in trial.strategies if each.name != best] == [
        TRIAL + 2 * (each.name == "first") for each in trial.strategies if each.name != best
    ]


def test_a_strategy_that_got_slower_is_tried_against_the_others_again(trial):
    batch(trial, UNEVEN, 3.0)
    batch(trial, UNEVEN, 3.0)
    try_all(trial, (3, 2, 4))
    batch(trial, UNEVEN, 9.0)
    batch(trial, UNEVEN, 9.0)
    assert trial.now.name == "first"
    try_all(trial, (9, 9, 5))
    assert trial.now.name == "third"


def test_the_first_batch_of_a_trial_does_not_count(trial):
    batch(trial, UNEVEN, 3.0)
    batch(trial, UNEVEN, 3.0)
    for took in ((1, 9, 9), (9, 5, 5), (1, 9, 9)):
        for each in took:
            batch(trial, UNEVEN, each)
    assert trial.now.name == "second"


def test_the_strategies_of_a_stream():
    trial = BestOfTrials.of(3)
    assert [each.planner.workers for each in trial.strategies] == [3, 15, 3]
    assert [each.planner.pinned for each in trial.strategies] == [False, False, True]
    assert trial.workers == trial.partitioner().workers == 3
