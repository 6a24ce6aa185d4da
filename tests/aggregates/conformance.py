"""What every aggregate promises, as plain functions that raise AssertionError."""

from __future__ import annotations

import math
import pickle
from typing import Any

import pyarrow as pa
import pytest

from unskew.aggregates import Aggregate


def same(left: Any, right: Any) -> bool:
    """Equal answers: NaN is NaN, and floating-point sums may differ in their last bits."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return same(list(left.values()), list(right.values())) and left.keys() == right.keys()
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or left == pytest.approx(right, rel=1e-9)
    return bool(left == right)


def state_of(aggregate: Aggregate, *batches: pa.RecordBatch) -> Any:
    state = aggregate.zero()
    for batch in batches:
        state = aggregate.add(state, batch)
    return state


def answer(aggregate: Aggregate, *states: Any) -> Any:
    """The result of the states merged from left to right; none of them is used up."""
    merged = aggregate.zero()
    for state in states:
        merged = aggregate.merge(merged, pickle.loads(pickle.dumps(state)))
    return aggregate.result(merged)


def batches_add_up_to_the_stream(aggregate: Aggregate, rows: pa.RecordBatch, cut: int) -> None:
    cut = min(cut, rows.num_rows)
    batched = state_of(aggregate, rows.slice(0, cut), rows.slice(cut))
    whole = state_of(aggregate, rows)
    assert same(aggregate.result(batched), aggregate.result(whole))


def zero_is_neutral(aggregate: Aggregate, rows: pa.RecordBatch) -> None:
    expected = aggregate.result(state_of(aggregate, rows))
    left = aggregate.merge(aggregate.zero(), state_of(aggregate, rows))
    assert same(aggregate.result(left), expected)
    right = aggregate.merge(state_of(aggregate, rows), aggregate.zero())
    assert same(aggregate.result(right), expected)


def merge_commutes(aggregate: Aggregate, rows: pa.RecordBatch, cut: int) -> None:
    parts = [rows.slice(0, min(cut, rows.num_rows)), rows.slice(min(cut, rows.num_rows))]
    one, other = (state_of(aggregate, part) for part in parts)
    assert same(answer(aggregate, one, other), answer(aggregate, other, one))


def merge_associates(aggregate: Aggregate, rows: pa.RecordBatch) -> None:
    third = rows.num_rows // 3
    parts = [rows.slice(0, third), rows.slice(third, third), rows.slice(2 * third)]

    def fresh() -> list[Any]:
        return [state_of(aggregate, part) for part in parts]

    a, b, c = fresh()
    left = aggregate.merge(aggregate.merge(a, b), c)
    a, b, c = fresh()
    right = aggregate.merge(a, aggregate.merge(b, c))
    assert same(aggregate.result(left), aggregate.result(right))
    assert same(aggregate.result(left), aggregate.result(state_of(aggregate, rows)))


def the_second_state_is_left_alone(aggregate: Aggregate, rows: pa.RecordBatch) -> None:
    other = state_of(aggregate, rows)
    before = aggregate.result(pickle.loads(pickle.dumps(other)))
    aggregate.add(aggregate.merge(state_of(aggregate, rows), other), rows)
    assert same(aggregate.result(other), before)


def it_travels(aggregate: Aggregate) -> None:
    assert pickle.loads(pickle.dumps(aggregate)) == aggregate
    assert isinstance(aggregate, Aggregate)


def results_have_the_declared_type(aggregate: Aggregate, rows: pa.RecordBatch) -> None:
    kind = aggregate.result_type([rows.schema.field(name).type for name in aggregate.columns])
    for batch in (rows, rows.slice(0, 0)):
        value = aggregate.result(state_of(aggregate, batch))
        assert same(pa.scalar(value, kind).as_py(), value)
