from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.partitioners.streams import partitioners, streams

from unskew.errors import ParameterError
from unskew.partitioners import OnlineGreedy, PartialKey, RandomChoices, ShuffleGrouping
from unskew.simulator.counting import count
from unskew.simulator.sources import Sources
from unskew.workloads import ZipfStream


class ListStream:
    """A stream in memory, in chunks of 100 rows."""

    def __init__(self, keys):
        self.keys = keys
        self.messages = keys.size

    def chunks(self):
        return (self.keys[i : i + 100] for i in range(0, self.keys.size, 100))


@settings(max_examples=100)
@given(partitioner=partitioners, stream=streams, sources=st.integers(1, 4))
def test_every_row_is_counted_once(partitioner, stream, sources):
    result = count(partitioner, ListStream(stream), sources)
    assert result.messages == stream.size
    assert result.keys == np.unique(stream).size
    assert result.keys <= result.replicas <= result.keys * partitioner.workers


@settings(max_examples=30)
@given(stream=streams)
def test_replicas_and_imbalance_are_those_of_the_definition(stream):
    workers = PartialKey(7).router().route(stream)
    result = count(PartialKey(7), ListStream(stream))
    assert result.replicas == len(set(zip(stream.tolist(), workers.tolist(), strict=True)))
    for after, measured in zip(result.checkpoints, result.imbalances, strict=True):
        loads = np.bincount(workers[:after], minlength=7)
        assert measured == pytest.approx(loads.max() - after / 7)


def test_a_thousand_checkpoints():
    result = count(RandomChoices(5), ZipfStream(1.0, keys=100, messages=10_000))
    assert result.checkpoints.tolist() == list(range(10, 10_001, 10))
    assert (result.imbalances <= 0.01 * result.checkpoints / 5 + 1).all()


def test_sources_are_fed_in_turn():
    sources = Sources(ShuffleGrouping(6), sources=3)
    assert sources.route(np.zeros(4, dtype=np.uint64)).tolist() == [0, 2, 4, 1]
    assert sources.route(np.zeros(3, dtype=np.uint64)).tolist() == [3, 5, 2]


def test_sources_fed_by_key_see_all_rows_of_a_key():
    keys = np.concatenate(list(ZipfStream(1.0, keys=50, messages=5000).chunks()))
    sources = Sources(PartialKey(4), sources=3, source_by="key")
    for key in np.unique(keys):
        before = [router.loads.sum() for router in sources.routers]
        sources.route(keys[keys == key])
        after = [router.loads.sum() for router in sources.routers]
        assert np.count_nonzero(np.subtract(after, before)) == 1
    assert min(router.loads.sum() for router in sources.routers) > 0


def test_coordinated_sources_share_one_router():
    assert len(Sources(OnlineGreedy(4), sources=3).routers) == 1
    assert len(Sources(PartialKey(4), sources=3).routers) == 3


def test_local_imbalances_add_up_to_at_least_the_whole():
    """Partial Key Grouping, section 3.2."""
    stream = ZipfStream(1.2, keys=1000, messages=20_000)
    sources = Sources(PartialKey(10), sources=4)
    loads = np.bincount(np.concatenate([sources.route(keys) for keys in stream.chunks()]))
    local = [router.loads for router in sources.routers]
    assert sum(local).tolist() == loads.tolist()
    assert loads.max() - loads.mean() <= sum(part.max() - part.mean() for part in local)


def test_probing_tells_the_true_loads():
    told = count(PartialKey(5, estimate="probing", period=50), ZipfStream(1.0, 100, 1000), 4)
    untold = count(PartialKey(5), ZipfStream(1.0, 100, 1000), 4)
    assert told.messages == untold.messages
    assert (told.loads != untold.loads).any()


def test_progress_adds_up():
    seen = []
    count(PartialKey(5), ZipfStream(1.0, 100, 70_000), progress=seen.append)
    assert sum(seen) == 70_000


@pytest.mark.parametrize(("sources", "source_by"), [(0, "turn"), (1, "chance")])
def test_bad_sources_are_refused(sources, source_by):
    with pytest.raises(ParameterError, match="source"):
        Sources(PartialKey(2), sources, source_by)


def test_loads_alone_are_the_same_loads():
    stream = ZipfStream(1.2, keys=500, messages=20_000)
    whole, lean = (
        count(PartialKey(7, estimate="probing", period=900), stream, 3, replicas=replicas)
        for replicas in (True, False)
    )
    np.testing.assert_array_equal(lean.loads, whole.loads)
    np.testing.assert_array_equal(lean.imbalances, whole.imbalances)
    assert (lean.replicas, lean.keys, lean.interval_replicas.size) == (0, 0, 0)
    assert count(PartialKey(7), stream, replicas=False, checkpoints=10).imbalances.size == 10
