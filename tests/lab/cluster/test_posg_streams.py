"""The arithmetic of streams: costs, and batches placed one after the other in virtual time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from unskew_lab.cluster import posg_streams as posg


def test_costs_are_those_it_names():
    entities = np.arange(100_000)
    values, times = np.unique(posg.classes(entities), return_counts=True)
    assert values.tolist() == [0.001, 0.005, 0.025]
    np.testing.assert_allclose(times / entities.size, [0.6, 0.3, 0.1], atol=0.001)
    drawn = posg.lognormal(entities)
    assert np.median(drawn) == pytest.approx(0.0015, rel=0.01)
    assert drawn.max() <= 0.2


@pytest.mark.parametrize("slow", [1.0, 1.5])
def test_a_batch_waits_for_its_rows_and_for_the_one_before(slow):
    """Every row takes `slow` times its share of the batch, all in one line."""
    kind, slots = "25/5/1 ms", 2
    size, seconds = posg._size(kind, slots), posg.SECONDS

    def run_batch(first: int, last: int) -> list[dict[str, float]]:
        now, share = time.time(), slow * seconds / size
        numbers = range(first, last)
        ends = [now + share * (number - first + 1) for number in numbers]
        return [
            {"id": number, "begun": end - share, "done": end}
            for number, end in zip(numbers, ends, strict=True)
        ]

    stream = posg.BatchedStream("test", run_batch, seconds / size, size)
    for number in range(posg.WARM + posg.BATCHES):
        stream.take(number)
    found = stream.result()
    # A row waits a batch for the last to arrive; then each batch delays all later ones.
    late = (slow - 1) * seconds * (posg.BATCHES - 1) / 2
    within = (slow - 1) * seconds / 2
    assert found.mean == pytest.approx(seconds + late + within, rel=0.01)
    assert found.makespan == pytest.approx(slow * seconds * posg.BATCHES, rel=0.01)
