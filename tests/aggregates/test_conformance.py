"""Every aggregate keeps every promise, on numbers with nulls, NaN, infinities and signed zeros."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aggregates import conformance
from tests.aggregates.longest import Longest

from unskew.aggregates import ALL, Count

AGGREGATES = [*(kind("x") for kind in ALL.values()), Count(), Longest("x")]  # type: ignore[call-arg]
every_aggregate = pytest.mark.parametrize("aggregate", AGGREGATES, ids=repr)

odd = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 1e-310, -2.5])
doubles = st.lists(st.none() | odd | st.floats(-1e6, 1e6), max_size=40)
whole = st.lists(st.none() | st.integers(-(2**40), 2**40), max_size=40)
money = st.lists(st.none() | st.decimals(-1000, 1000, places=3), max_size=40)
batches = st.one_of(
    doubles.map(lambda values: pa.record_batch({"x": pa.array(values, pa.float64())})),
    whole.map(lambda values: pa.record_batch({"x": pa.array(values, pa.int64())})),
    money.map(lambda values: pa.record_batch({"x": pa.array(values, pa.decimal128(12, 3))})),
)
quick = settings(max_examples=25)


@every_aggregate
@quick
@given(rows=batches, cut=st.integers(0, 40))
def test_batch_equals_stream(aggregate, rows, cut):
    conformance.batches_add_up_to_the_stream(aggregate, rows, cut)


@every_aggregate
@quick
@given(rows=batches, cut=st.integers(0, 40))
def test_merge_is_associative_and_commutative(aggregate, rows, cut):
    conformance.merge_commutes(aggregate, rows, cut)
    conformance.merge_associates(aggregate, rows)


@every_aggregate
@quick
@given(rows=batches)
def test_zero_is_neutral_and_states_are_left_alone(aggregate, rows):
    conformance.zero_is_neutral(aggregate, rows)
    conformance.the_second_state_is_left_alone(aggregate, rows)


@every_aggregate
@quick
@given(rows=batches)
def test_results_have_the_declared_type(aggregate, rows):
    conformance.results_have_the_declared_type(aggregate, rows)


@every_aggregate
def test_it_travels(aggregate):
    conformance.it_travels(aggregate)


def test_decimals_stay_exact():
    values = pa.array([decimal.Decimal("0.1")] * 3, pa.decimal128(3, 1))
    total = ALL["sum"]("x")
    assert total.add(total.zero(), pa.record_batch({"x": values})) == decimal.Decimal("0.3")
