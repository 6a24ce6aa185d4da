"""Parts of batches, cut by cost and timed; no Spark session needed, and no real clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.costs import parts
from unskew._spark.costs.parts import InParts, cut_by_cost
from unskew._spark.costs.shares import TimedPart, shared_out
from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.planning.cost_curve import CostCurve, keys_of, never_falling
from unskew._spark.planning.row_costs import RowCosts
from unskew._spark.planning.run_records import RecordPlace, new_run, read_run
from unskew._spark.planning.work_record import WorkRecord


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(parts, "perf_counter", lambda: now[0])
    return now


def batches(costs: list[float], size: int) -> Iterator[pa.RecordBatch]:
    """Rows whose mark is also their work."""
    for start in range(0, len(costs), size):
        some = np.array(costs[start : start + size])
        yield pa.record_batch({"work": some, "mark": some})


def record_of(folder: str) -> WorkRecord:
    (name,) = ArrowFolder(folder).names()
    found = read_run(ArrowFolder(folder), name)
    assert found is not None
    return found.record


@given(st.lists(st.floats(0, 10), max_size=40), st.floats(0.1, 30))
def test_parts_hold_all_rows_and_cost_no_more_than_they_may(costs, limit):
    values = np.array(costs)
    ends = cut_by_cost(values, limit)
    assert ends[-1] == values.size
    assert ends == sorted(set(ends))
    for start, end in zip([0, *ends], ends, strict=False):
        assert end - start <= 1 or values[start:end].sum() <= limit * (1 + 1e-9)


def test_what_a_task_took_is_recorded_by_cost(clock, tmp_path):
    sizes: list[int] = []

    def function(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            sizes.append(batch.num_rows)
            assert batch.schema.names == ["work"]
            clock[0] += 3.0 * sum(batch.column("work").to_pylist())
            yield batch

    place = RecordPlace(f"{tmp_path}/{new_run()}", "f", 1)
    results = []
    for result in InParts(function, "arrow", 4.0, place)(batches([1.0, 1.0, 9.0, 2.0, 1.0], 4)):
        clock[0] += 100.0  # What Spark does with a result is not the function's time.
        results.append(result)
    assert sizes == [2, 1, 1, 1]
    assert pa.Table.from_batches(results).column("work").to_pylist() == [1.0, 1.0, 9.0, 2.0, 1.0]
    record = record_of(str(tmp_path))
    took = dict(zip(record.keys.tolist(), record.key_seconds.tolist(), strict=True))
    assert took == pytest.approx(
        {int(keys_of(np.array([cost]))[0]): 3 * cost * times
         for cost, times in ((1.0, 3), (2.0, 1), (9.0, 1))}
    )  # fmt: skip


def test_a_function_that_reads_all_rows_first_is_timed_as_a_whole(clock, tmp_path):
    def function(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = []
        for batch in given:
            clock[0] += 0.5
            held.append(batch)
        clock[0] += 9.0
        yield from held

    place = RecordPlace(f"{tmp_path}/{new_run()}", "f", 1)
    list(InParts(function, "arrow", 100.0, place)(batches([1.0] * 6, 3)))
    assert record_of(str(tmp_path)).seconds == pytest.approx(10.0)


def test_a_function_that_leaves_rows_unread_records_nothing(tmp_path):
    place = RecordPlace(f"{tmp_path}/{new_run()}", "f", 1)
    work = InParts(lambda given: iter([next(given)]), "arrow", 1.0, place)
    list(work(batches([1.0] * 6, 3)))
    assert ArrowFolder(str(tmp_path)).names() == []


def test_unknown_costs_are_timed_in_parts_of_some_length(clock, tmp_path):
    sizes: list[int] = []

    def function(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            sizes.append(batch.num_rows)
            clock[0] += 0.001 * batch.num_rows
            yield batch

    keys = pa.array(np.arange(5000) % 7, pa.int64())
    whole = [pa.record_batch({"work": keys, "mark": keys})] * 2
    place = RecordPlace(f"{tmp_path}/{new_run()}", "f", 1)
    list(InParts(function, "arrow", None, place)(iter(whole)))
    assert sum(sizes) == 10_000
    assert sizes[:4] == [1, 4, 16, 20]
    assert len(sizes) < 64
    assert max(sizes) > 700  # Later parts are an eighth of what was before them.
    record = record_of(str(tmp_path))
    assert record.rows == 10_000
    assert record.seconds == pytest.approx(10.0)


def test_seconds_go_to_the_keys_that_take_them():
    drawn = np.random.default_rng(1)
    costs = np.array([0.001, 0.002, 0.5])
    timed = []
    for _ in range(200):
        keys, rows = np.unique(drawn.choice(3, 20, p=[0.6, 0.38, 0.02]), return_counts=True)
        timed.append(TimedPart(keys.astype(np.uint64), rows, float(costs[keys] @ rows)))
    sums, counts = np.zeros(3), np.zeros(3)
    for part, seconds in zip(timed, shared_out(timed), strict=True):
        assert seconds.sum() == pytest.approx(part.seconds)
        np.add.at(sums, part.keys.astype(int), seconds)
        np.add.at(counts, part.keys.astype(int), part.rows)
    heavy = sums[2] / counts[2]
    assert heavy > 0.4
    assert sums[:2].sum() < sums[2]


def test_a_costly_key_stands_out_of_whole_batches(clock, tmp_path):
    """20,000 rows of 20 keys of 0.1 ms, but for key 0; batches as large as Spark's."""
    keys = np.random.default_rng(2).integers(0, 20, 20_000)
    took = recorded(clock, tmp_path, keys, np.where(keys == 0, 0.01, 0.0001))
    assert 0.8 < took[0] / 0.01 < 1.2
    assert np.mean([took[key] for key in range(1, 20)]) < 0.0003


@pytest.mark.parametrize("place", [7, 5_000, 19_000])
def test_a_single_costly_row_stands_out_wherever_it_is(clock, tmp_path, place):
    keys = np.random.default_rng(3).integers(1, 2000, 20_000)
    keys[place] = 0
    took = recorded(clock, tmp_path, keys, np.where(keys == 0, 10.0, 0.001))
    assert took[0] > 4.0
    assert max(seconds for key, seconds in took.items() if key) < took[0] / 4


def recorded(clock: list[float], folder, keys: np.ndarray, costs: np.ndarray) -> dict[int, float]:
    """The mean seconds of a row by key, as a task records them whose rows take `costs`."""

    def function(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            clock[0] += float(batch.column("work").to_numpy().sum())
            yield batch

    whole = pa.record_batch({"work": costs, "mark": keys.astype(np.int64)})
    given = [whole.slice(start, 10_000) for start in range(0, keys.size, 10_000)]
    place = RecordPlace(f"{folder}/{new_run()}", "f", 1)
    list(InParts(function, "arrow", None, place)(iter(given)))
    record = record_of(str(folder))
    assert record.seconds == pytest.approx(costs.sum())
    means = record.key_seconds / record.key_rows
    return dict(zip(record.keys.tolist(), means.tolist(), strict=True))


def test_costs_of_rows_that_are_never_apart_follow_what_the_user_said():
    costs = np.array([1.0, 100.0])
    alike = [TimedPart(keys_of(costs), np.array([50, 1]), 15.0)] * 5
    (cheap, costly), *_ = shared_out(alike, "cost")
    assert cheap + costly == pytest.approx(15.0)
    assert 10 * cheap / 50 < costly


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.5, 9)), min_size=1, max_size=20))
def test_means_that_never_fall(pairs):
    values, weights = (np.array(each) for each in zip(*pairs, strict=True))
    found = never_falling(values, weights)
    assert (np.diff(found) >= -1e-9).all()
    assert float(found @ weights) == pytest.approx(float(values @ weights), abs=1e-9)


def test_a_curve_gives_the_seconds_of_costs_that_were_timed_and_of_higher_ones():
    costs = np.array([1.0, 2.0, 4.0, 8.0])
    # Seconds grow with the square of the cost.
    record = WorkRecord.of(keys_of(costs), np.array([400, 200, 100, 50]), costs**2 * 6400 / costs)
    curve = CostCurve.of(record)
    assert curve is not None
    middle = costs * (1 + 1 / 16)
    np.testing.assert_allclose(curve.at(middle) * record.rows / 750, 16 * costs**2, rtol=0.02)
    assert curve.at(np.array([17.0]))[0] == pytest.approx(2 * curve.seconds[-1])
    known = RowCosts(750, 2000.0, middle[::-1][:2], np.zeros(2, np.int64), np.array([1000.0]))
    inside = curve.in_seconds(known)
    np.testing.assert_allclose(inside.top, curve.seconds[::-1][:2])
    assert inside.total > inside.top.sum()
    assert CostCurve.of(WorkRecord.none()) is None
