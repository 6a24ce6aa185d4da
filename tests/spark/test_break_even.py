"""When scheduling by cost pays, from what tasks have timed; no Spark session needed."""

from __future__ import annotations

import numpy as np
import pytest

from unskew._spark.costs.cost_aware_map import break_even, explained
from unskew._spark.costs.samples import JobCosts, TaskCosts
from unskew._spark.costs.timer import ArrowBatches, Timer, timed
from unskew.hashing import hash_ids
from unskew.sketches.cost_pair import CostShape

pa = pytest.importorskip("pyarrow")


def job(costs: np.ndarray, ids: np.ndarray, parts: np.ndarray) -> JobCosts:
    rows = dict(zip(*(each.tolist() for each in np.unique(parts, return_counts=True)), strict=True))
    return JobCosts.of(CostShape(), [TaskCosts.of(CostShape(), hash_ids(ids), parts, costs, rows)])


IDS = np.random.default_rng(1).integers(0, 20, 400)
BY_KEY = np.where(IDS < 3, 0.100, 0.004)


def test_what_a_task_learned_survives_the_way_home():
    parts = np.repeat([0, 3], 200)
    sent = TaskCosts.of(CostShape(), hash_ids(IDS), parts, BY_KEY, {0: 200, 3: 200, 9: 5})
    got = TaskCosts.from_bytes(sent.to_bytes())
    assert got.pair == sent.pair
    assert (dict(got.rows), dict(got.means)) == (dict(sent.rows), dict(sent.means))
    np.testing.assert_array_equal(got.seconds, sent.seconds)
    nothing = TaskCosts.of(CostShape(), hash_ids(IDS[:0]), parts[:0], BY_KEY[:0], {})
    assert TaskCosts.from_bytes(nothing.to_bytes()).pair.rows == 0


def test_loads_of_input_partitions_use_their_own_means():
    parts = np.where(IDS < 3, 0, 1)
    costs = job(BY_KEY, IDS, parts)
    np.testing.assert_allclose(costs.loads, [BY_KEY[IDS < 3].sum(), BY_KEY[IDS >= 3].sum()])


def test_a_key_that_tells_the_cost_explains_it_and_another_does_not():
    assert explained(job(BY_KEY, IDS, np.zeros(400, int))) > 0.95
    shuffled = np.random.default_rng(2).permutation(BY_KEY)
    assert explained(job(shuffled, IDS, np.zeros(400, int))) < 0.05
    once = job(shuffled, np.arange(400), np.zeros(400, int))
    assert explained(once) < 0.05


def test_pays_where_partitions_are_uneven():
    uneven = np.where(IDS < 3, 0, 1 + np.arange(400) % 3)
    forecast = break_even(job(BY_KEY, IDS, uneven), workers=4)
    assert forecast.pays
    assert "gain expected" in str(forecast)


def test_does_not_pay_where_many_small_partitions_do_as_well():
    forecast = break_even(job(BY_KEY, IDS, np.arange(400) % 64), workers=4)
    assert not forecast.pays
    assert "64 partitions" in forecast.why


def test_does_not_pay_where_the_key_does_not_tell_the_cost():
    forecast = break_even(job(np.full(400, 0.01), IDS, np.where(IDS < 15, 0, 1)), workers=4)
    assert not forecast.pays
    assert "does not depend on the key" in forecast.why


def test_does_not_pay_without_rows():
    none = job(BY_KEY[:0], IDS[:0], np.empty(0, int))
    assert not break_even(none, workers=4).pays


def batches(*sizes: int) -> list[pa.RecordBatch]:
    return [
        pa.record_batch(
            {
                "id": np.arange(size),
                "hash": np.arange(size) % 3,
                "part": np.zeros(size, dtype=np.int32),
            }
        )
        for size in sizes
    ]


def test_parts_begin_with_single_rows_and_cover_every_row_in_order():
    parts = list(Timer(ArrowBatches("costs")).feed(iter(batches(5000, 0, 7))))
    assert parts[0].num_rows == 1
    assert max(part.num_rows for part in parts) > 1
    assert [n for part in parts for n in part.column("id").to_pylist()] == [
        *range(5000),
        *range(7),
    ]
    assert all(part.schema.names == ["id"] for part in parts)


class Clock:
    """A clock that moves when the function works: key 2 takes 8 ms a row, others 1 ms."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def work(self, parts):
        for part in parts:
            ids = part.column("id").to_numpy()
            self.now += float(np.where(ids % 3 == 2, 0.008, 0.001).sum())
            yield part


def test_costs_belong_to_the_key_and_waiting_for_spark_does_not_count(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("unskew._spark.costs.timer.time", clock)
    out = []
    for batch in timed(clock.work, ArrowBatches("costs"), CostShape())(iter(batches(30))):
        out.append(batch)
        clock.now += 5.0
    learned = TaskCosts.from_bytes(out[-1].column(1).to_pylist()[-1])
    found = learned.pair.estimate(np.arange(3, dtype=np.uint64))
    np.testing.assert_allclose(found, [0.001, 0.001, 0.008], atol=1e-9)


def test_after_enough_parts_batches_pass_whole(monkeypatch):
    monkeypatch.setattr("unskew._spark.costs.timer.MOST_PARTS", 3)
    monkeypatch.setattr("unskew._spark.costs.timer._SHORT", 0.0)
    sizes = [part.num_rows for part in Timer(ArrowBatches("costs")).feed(iter(batches(50, 60)))]
    assert sizes == [1, 1, 1, 47, 60]


def test_what_was_learned_rides_on_the_last_row_only():
    run = timed(lambda parts: parts, ArrowBatches("costs"), CostShape())
    out = list(run(iter(batches(10))))
    costs = [cell for batch in out for cell in batch.column(1).to_pylist()]
    assert costs[:-1] == [None] * 9
    assert TaskCosts.from_bytes(costs[-1]).pair.rows == 10


def test_what_is_not_a_batch_is_left_for_spark_to_refuse():
    run = timed(lambda parts: iter(["not a batch"]), ArrowBatches("costs"), CostShape())
    assert list(run(iter(batches(1)))) == ["not a batch"]
