"""Every partitioner keeps every promise."""

from __future__ import annotations

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.partitioners import conformance
from tests.partitioners.streams import examples, streams, workers

from unskew.partitioners import ALL, need_of

every_scheme = pytest.mark.parametrize("scheme", ALL)


@every_scheme
@settings(max_examples=10)
@given(stream=streams, workers=workers)
def test_promises(scheme, stream, workers):
    for partitioner in examples(scheme, workers):
        for promise in conformance.PROMISES:
            note(f"{promise.__name__} with {partitioner!r}")
            promise(partitioner, stream)


@every_scheme
@settings(max_examples=15)
@given(stream=streams, workers=workers, cut=st.integers(0, 200))
def test_batch_boundaries_do_not_change_the_route(scheme, stream, workers, cut):
    for partitioner in examples(scheme, workers):
        note(f"with {partitioner!r}")
        conformance.batches_do_not_change_the_route(partitioner, stream, cut)


@every_scheme
def test_the_need_of_the_scheme_is_kept(scheme):
    for partitioner in examples(scheme, workers=7):
        assert partitioner.need.keeps(need_of(scheme))


def test_schemes_made_from_frequencies():
    made = {name for name, kind in ALL.items() if kind.uses_frequencies}
    assert made == {"routing-table", "offline-greedy", "planned-split"}
