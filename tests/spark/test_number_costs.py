"""Keys that are numbers: rare costly values are estimated by their neighbours, if these tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F

from unskew._spark.costs import parts
from unskew._spark.costs.cost_columns import cost_by_number
from unskew._spark.costs.parts import InParts
from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.planning.number_curve import MOST_POINTS, OFTEN, NumberCurve
from unskew._spark.planning.number_keys import (
    keys_of_numbers,
    middles_of_ranges,
    neighbours,
    numbers_of,
)
from unskew._spark.planning.run_records import RecordPlace, new_run, read_run
from unskew._spark.planning.work_record import WorkRecord

Draw = Callable[[np.random.Generator], np.ndarray]
Cost = Callable[[np.ndarray], np.ndarray]


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(parts, "perf_counter", lambda: now[0])
    return now


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=30))
def test_keys_are_in_the_order_of_the_values_and_exact(found):
    values = np.sort(np.array(found))
    keys = keys_of_numbers(values)
    assert (keys[1:] >= keys[:-1]).all()
    usual = (values == 0) | ((np.abs(values) >= 2.0**-63) & (np.abs(values) < 2.0**64))
    np.testing.assert_array_equal(numbers_of(keys)[usual], values[usual])
    assert np.isnan(numbers_of(keys_of_numbers(np.array([np.nan])))).all()


@given(st.lists(st.integers(-50, 10**6), min_size=1, max_size=60, unique=True))
def test_groups_of_neighbours_are_narrow(found):
    values = np.sort(np.array(found, dtype=np.float64))
    groups = neighbours(keys_of_numbers(values), np.ones(values.size), 8)
    assert groups[0] == 0
    assert set(np.diff(groups)) <= {0, 1}
    for group in range(groups[-1] + 1):
        some = np.abs(values[groups == group])
        assert some.max() <= 1.125 * some.min()
        assert some.size <= values.size / 8 + 1


def learned(clock: list[float], folder, values: np.ndarray, costs: np.ndarray) -> WorkRecord:
    """What a task records whose rows take `costs`."""

    def function(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            clock[0] += float(batch.column("work").to_numpy().sum())
            yield batch

    whole = pa.record_batch({"work": costs, "mark": values.astype(np.float64)})
    name = new_run()
    place = RecordPlace(f"{folder}/{name}", "f")
    list(InParts(function, "arrow", None, place, number=True)(iter([whole])))
    run = read_run(ArrowFolder(str(folder)), name)
    assert run is not None
    return run.record


def sizes(drawn: np.random.Generator) -> np.ndarray:
    return np.ceil(100 * (drawn.pareto(1.1, 4000) + 1))


SHAPES: dict[str, tuple[Draw, Cost]] = {
    "in proportion": (sizes, lambda sizes: 1e-5 * sizes),
    "and each row some time": (sizes, lambda sizes: 0.003 + 1e-5 * sizes),
    "falling": (
        lambda drawn: drawn.integers(0, 5000, 4000),
        lambda ages: 1e-9 * (5000.0 - ages) ** 2 + 1e-5,
    ),
    "below zero": (lambda drawn: -sizes(drawn), lambda sizes: -1e-5 * sizes),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_costliest_rows_are_known_though_their_values_were_never_seen(
    clock, tmp_path, shape, seed
):
    draw, cost = SHAPES[shape]
    before, after = draw(np.random.default_rng(seed)), draw(np.random.default_rng(seed + 10))
    after = after[~np.isin(after, before)]
    curve = NumberCurve.of(learned(clock, tmp_path, before, cost(before)))
    assert curve is not None
    assert curve.values.size <= MOST_POINTS
    true, expected = cost(after), curve.at(after.astype(np.float64))
    costliest = np.argsort(-true)[:20]
    assert (expected[costliest] > true[costliest] / 2).sum() >= 18
    assert (expected[costliest] < true[costliest] * 2).sum() >= 18


@pytest.mark.parametrize("seed", range(4))
def test_ids_stay_keys_each_for_itself(clock, tmp_path, seed):
    drawn = np.random.default_rng(seed)
    of_id = drawn.pareto(1.1, 3000) * 1e-3
    for ids in (drawn.integers(0, 3000, 4000), drawn.zipf(1.2, 4000) % 3000):
        assert NumberCurve.of(learned(clock, tmp_path, ids, of_id[ids])) is None


def test_equal_costs_and_few_values_make_no_curve(clock, tmp_path):
    drawn = np.random.default_rng(1)
    noise = 0.001 * drawn.lognormal(0, 0.3, 4000)
    assert NumberCurve.of(learned(clock, tmp_path, drawn.integers(0, 3000, 4000), noise)) is None
    few = drawn.integers(0, 9, 4000)
    assert NumberCurve.of(learned(clock, tmp_path, few, 0.001 * (few + 1.0))) is None


def test_a_value_may_be_the_middle_of_a_range():
    middle = middles_of_ranges()
    values = middle[(middle >= 1) & (middle < 2**12)]
    keys, ones = keys_of_numbers(values), np.ones(values.size, dtype=np.int64)
    named, unnamed = (WorkRecord.of(keys, ones, values, most=most) for most in (99, 0))
    curve = NumberCurve.of(WorkRecord.merged([named, unnamed]))
    assert curve is not None
    assert (np.diff(curve.values) > 0).all()
    np.testing.assert_allclose(curve.at(values), values, rtol=0.3)


def estimates(spark, record: WorkRecord, values: list[float | None]) -> list[float]:
    """By the expression that Spark gets."""
    text = F.array(*(F.lit(None if value is None else str(value)) for value in values))
    rows = spark.range(0, len(values), 1, 1).select(F.get(text, F.col("id").cast("int")).alias("v"))
    number = F.coalesce(F.col("v").cast("double"), F.lit(float("nan")))
    return [row[0] for row in rows.select(cost_by_number(record, number)).collect()]


@pytest.mark.spark
@pytest.mark.parametrize("sign", [1, -1])
def test_spark_gets_the_curve_and_the_values_that_were_timed_often(spark, sign):
    known = sign * np.arange(1.0, 101.0)
    rows, calls = np.ones(100, dtype=np.int64), np.ones(100, dtype=np.int64)
    seconds = 0.01 * np.abs(known)
    rows[49], calls[49], seconds[49] = OFTEN, OFTEN, 99.0 * OFTEN
    record = WorkRecord.of(keys_of_numbers(known), rows, seconds, calls)
    curve = NumberCurve.of(record)
    assert curve is not None
    values = [-1e9, -70.5, 0.0, 0.3, 1.0, 20.25, 70.5, 99.9, 100.0, 250.0]
    found = estimates(spark, record, values)
    assert found == pytest.approx(curve.at(np.array(values)).tolist())
    often, none, no_number = estimates(spark, record, [50.0 * sign, None, float("nan")])
    assert often == pytest.approx(99.0)
    assert none == no_number == pytest.approx((record.seconds - 99 * OFTEN) / 99)


@pytest.mark.spark
def test_spark_gets_ids_each_for_itself(spark):
    values = [7.0, -3.5, 0.0, 2.0**40, float("nan")]
    seconds = np.array([4.0, 3.0, 2.0, 1.0, 5.0])
    record = WorkRecord.of(keys_of_numbers(np.array(values)), np.ones(5, dtype=np.int64), seconds)
    assert NumberCurve.of(record) is None
    assert estimates(spark, record, [*values, None, -0.0, 8.0]) == pytest.approx(
        [*seconds, 5.0, 2.0, 0.0]
    )
