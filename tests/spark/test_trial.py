"""A replanned stream takes the way that took least, once its workers prove unequal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from unskew._spark.streaming.replan.planners import Outcome
from unskew._spark.streaming.replan.trial import TRIAL, Choosing, Way
from unskew.partitioners import KeyGrouping

EVEN, UNEVEN = [1.0, 1.0, 1.1, 0.9], [1.0, 1.0, 3.0, 1.0]
PLACES = ("first", "second", "third")


@dataclass
class Fixed:
    """A planner that only remembers."""

    workers: int = 4
    pinned: bool = False
    table_size: int = 0
    learned: list[Outcome] = field(default_factory=list)

    def partitioner(self):
        return KeyGrouping(self.workers)

    def learn(self, outcome, counts):
        self.learned.append(outcome)


@pytest.fixture
def choosing():
    return Choosing([Way(name, Fixed()) for name in PLACES])


def batch(choosing, seconds, took):
    outcome = Outcome(np.array(seconds), np.full(len(seconds), 100.0), took)
    choosing.learn(outcome, lambda: pytest.fail("nobody asked for counts"))


def try_all(choosing, times):
    for took in times:
        for _ in range(TRIAL):
            batch(choosing, UNEVEN, took)


def test_even_workers_stay_with_the_first_way(choosing):
    for _ in range(20):
        batch(choosing, EVEN, 1.0)
    # One bad batch is no reason.
    batch(choosing, UNEVEN, 5.0)
    batch(choosing, EVEN, 1.0)
    batch(choosing, UNEVEN, 5.0)
    assert choosing.now.name == "first"
    assert len(choosing.now.planner.learned) == 23


@pytest.mark.parametrize(("times", "best"), [((3, 2, 4), "second"), ((3, 2, 1), "third"),
                                             ((1, 2, 3), "first")])  # fmt: skip
def test_all_ways_are_tried_and_the_best_is_kept(choosing, times, best):
    batch(choosing, UNEVEN, 3.0)
    batch(choosing, UNEVEN, 3.0)
    try_all(choosing, times)
    assert choosing.now.name == best
    for _ in range(10):
        batch(choosing, UNEVEN, min(times) * 1.2)
    assert choosing.now.name == best
    assert [len(way.planner.learned) for way in choosing.ways if way.name != best] == [
        TRIAL + 2 * (way.name == "first") for way in choosing.ways if way.name != best
    ]


def test_a_way_that_got_slower_is_tried_against_the_others_again(choosing):
    batch(choosing, UNEVEN, 3.0)
    batch(choosing, UNEVEN, 3.0)
    try_all(choosing, (3, 2, 4))
    batch(choosing, UNEVEN, 9.0)
    batch(choosing, UNEVEN, 9.0)
    assert choosing.now.name == "first"
    try_all(choosing, (9, 9, 5))
    assert choosing.now.name == "third"


def test_the_first_batch_of_a_trial_does_not_count(choosing):
    batch(choosing, UNEVEN, 3.0)
    batch(choosing, UNEVEN, 3.0)
    for took in ((1, 9, 9), (9, 5, 5), (1, 9, 9)):
        for each in took:
            batch(choosing, UNEVEN, each)
    assert choosing.now.name == "second"


def test_the_ways_of_a_stream():
    choosing = Choosing.of(3)
    assert [way.planner.workers for way in choosing.ways] == [3, 15, 3]
    assert [way.planner.pinned for way in choosing.ways] == [False, False, True]
    assert choosing.workers == choosing.partitioner().workers == 3
