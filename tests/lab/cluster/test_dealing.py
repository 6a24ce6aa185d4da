"""Rows that are dealt to instances as they arrive: all are served, in order, once."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import numpy as np
import pytest

from unskew.errors import SessionError
from unskew.partitioners import Proactive, ShuffleGrouping
from unskew.simulator.completion import CostlyRows, complete
from unskew_lab import serving
from unskew_lab.cluster import dealing
from unskew_lab.cluster.machines import Running, using
from unskew_lab.cluster.proactive import Series, Tweets, schemes
from unskew_lab.papers.proactive.streams import POSG, ROUND_ROBIN
from unskew_lab.serving import serve


class Threads:
    """Instances in this process, instead of in Spark's tasks."""

    def __init__(self, most=99):
        self.error, self.most, self.threads = None, most, []

    def begin(self, address, secret, places):
        for place in places[: self.most]:
            thread = threading.Thread(target=serve, args=(address, secret, place), daemon=True)
            thread.start()
            self.threads.append(thread)

    def end(self, seconds):
        for thread in self.threads:
            thread.join(seconds)


def rows_of(costs, gap, **more):
    costs = np.asarray(costs, dtype=float)
    keys = np.arange(costs.size, dtype=np.uint64) % np.uint64(4)
    return CostlyRows(keys, costs, np.arange(costs.size) * gap, **more)


def test_times_are_those_of_queues_served_first_come_first_served():
    """None is sooner than the simulator has it; sleeping and sending take time."""
    rows = rows_of([0.03, 0.001, 0.001, 0.03, 0.001, 0.02] * 10, 0.01)
    found = dealing.deal(Threads(), {ROUND_ROBIN: ShuffleGrouping(2)}, rows)[ROUND_ROBIN]
    wanted = complete(ShuffleGrouping(2), rows).times
    assert (found.times >= wanted - 1e-3).all()
    assert found.left is None
    assert found.messages == 0


def test_what_a_sleep_takes_too_long_does_not_add_up(monkeypatch):
    """Every sleep takes three times as long as asked; all rows of a queue end when they should."""
    now = [1000.0]
    monkeypatch.setattr(serving.time, "time", lambda: now[0])
    monkeypatch.setattr(serving.time, "sleep", lambda asked: now.__setitem__(0, now[0] + 3 * asked))
    inbox = SimpleQueue()
    rows = np.arange(30)
    inbox.put((1000.0, serving.Sent(rows, rows.astype(np.uint64), np.full(30, 0.01), {})))
    inbox.put((1010.0, serving.Sent(rows[:1], rows[:1].astype(np.uint64), np.array([0.01]), {})))
    inbox.put((1010.0, None))
    queue, later = serving._worked(inbox, 1000.0, None)
    wanted = 0.01 * (rows + 1)
    assert (queue.finish >= wanted - 1e-9).all()
    assert (queue.finish <= wanted + 0.02 + 1e-9).all()
    assert later.finish[0] >= 10.01  # not before it came


def test_instances_learn_and_the_source_leaves_round_robin():
    """Keys 0 and 1 cost a hundred times as much as 2 and 3."""
    rows = rows_of([0.004, 0.004, 4e-5, 4e-5] * 100, 0.005)
    # Whatever the clock says of short rows, the second window is taken for like the first.
    posg = Proactive(2, window=20, tolerance=1e9)
    found = dealing.deal(Threads(), {POSG: posg, ROUND_ROBIN: ShuffleGrouping(2)}, rows)
    assert found[POSG].left is not None
    assert found[POSG].left >= 80
    assert found[POSG].messages >= 4  # matrices of two instances, and their replies
    assert found[POSG].heard[0] <= found[POSG].left
    for each in found.values():
        assert each.times.size == 400
        assert (each.times > 0).all()


def test_factors_make_instances_slower():
    factors = np.array([[1.0, 1.0], [1.0, 5.0]])
    rows = rows_of([0.01] * 40, 0.01, factors=factors, changes=(20,))
    [found] = dealing.deal(Threads(), {ROUND_ROBIN: ShuffleGrouping(2)}, rows).values()
    assert found.times[21::2].min() >= 0.05


def test_instances_that_do_not_come_are_told(monkeypatch):
    monkeypatch.setattr(dealing, "PATIENCE", 0.5)
    with pytest.raises(SessionError, match="1 of 2 tasks run"):
        dealing.deal(Threads(most=1), {ROUND_ROBIN: ShuffleGrouping(2)}, rows_of([0.01], 1.0))


def test_streams_are_those_of_the_figures():
    cell = Series(10_000, seed=1)
    rows = cell.stream()
    assert rows.changes == (5_000,)
    assert rows.costs.max() == pytest.approx(0.008)
    assert rows.arrivals[1] == pytest.approx(rows.costs.mean() / 5 / 0.97)
    assert set(np.unique(Tweets(2, 5_000, 1).stream().costs)) <= {0.05, 0.01, 0.002}
    assert [each.workers for each in schemes(5, 1).values()] == [5, 5]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.classic("the cluster's sessions are classic")
def test_spark_tasks_serve_as_long_as_the_stream(spark, tmp_path):
    """One instance for each scheme: the tests' session has two slots."""
    with using(Running(None, spark)):
        rows = Series(300, seed=1, milliseconds=1.0, change=False)
        found = dealing.deal_to_tasks(spark, schemes(1, 1), rows.stream())
    assert {name: each.times.size for name, each in found.items()} == {POSG: 300, ROUND_ROBIN: 300}
