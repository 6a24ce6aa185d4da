"""What tasks time for POSG, and how it gets home; no Spark session needed."""

from __future__ import annotations

import numpy as np
import pytest

from unskew._spark.costs.pair_bytes import from_bytes, to_bytes
from unskew._spark.costs.timer import ArrowBatches, Timer, timed
from unskew.hashing import hash_ids
from unskew.sketches.cost_pair import CostPair, CostShape

pa = pytest.importorskip("pyarrow")


def test_what_a_task_learned_survives_the_way_home():
    pair = CostPair(CostShape())
    assert from_bytes(to_bytes(pair)) == pair
    pair.add(hash_ids(np.arange(400) % 20), np.linspace(0.1, 2.0, 400))
    assert from_bytes(to_bytes(pair)) == pair


def batches(*sizes: int) -> list[pa.RecordBatch]:
    return [
        pa.record_batch(
            {
                "id": np.arange(size),
                "hash": np.arange(size) % 3,
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
    learned = from_bytes(out[-1].column(1).to_pylist()[-1])
    found = learned.estimate(np.arange(3, dtype=np.uint64))
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
    assert from_bytes(costs[-1]).rows == 10


def test_what_is_not_a_batch_is_left_for_spark_to_refuse():
    run = timed(lambda parts: iter(["not a batch"]), ArrowBatches("costs"), CostShape())
    assert list(run(iter(batches(1)))) == ["not a batch"]
