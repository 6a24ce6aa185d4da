"""Every partitioner keeps every promise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.partitioners import conformance
from tests.partitioners.streams import EXAMPLES, streams

from unskew.partitioners import ALL, need_of

every_partitioner = pytest.mark.parametrize("partitioner", EXAMPLES, ids=repr)


def test_every_scheme_is_among_the_examples():
    assert {partitioner.scheme for partitioner in EXAMPLES} == set(ALL)


@every_partitioner
def test_the_need_of_the_scheme_is_kept(partitioner):
    assert partitioner.need.keeps(need_of(partitioner.scheme))


def test_schemes_made_from_frequencies():
    made = {name for name, kind in ALL.items() if kind.uses_frequencies}
    assert made == {"routing-table", "offline-greedy", "planned-split"}


@every_partitioner
@pytest.mark.parametrize("promise", conformance.PROMISES, ids=lambda promise: promise.__name__)
@settings(max_examples=10)
@given(stream=streams)
def test_promise(partitioner, promise, stream):
    promise(partitioner, stream)


@every_partitioner
@settings(max_examples=15)
@given(stream=streams, cut=st.integers(0, 200))
def test_batch_boundaries_do_not_change_the_route(partitioner, stream, cut):
    conformance.batches_do_not_change_the_route(partitioner, stream, cut)
