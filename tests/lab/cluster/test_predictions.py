"""What balance alone predicts, and when rows were done."""

from __future__ import annotations

import numpy as np
import pytest

from unskew.streaming import BatchProgress
from unskew.testing.cluster.emulation import SPEED_FILE
from unskew_lab import pacing
from unskew_lab.cluster.inputs import ZipfBatches
from unskew_lab.cluster.machines import SLOTS, SOURCES
from unskew_lab.cluster.predictions import (
    effective_virtual_workers,
    effective_workers,
    mean_wait,
    mean_wait_virtual,
)
from unskew_lab.cluster.streamed import EQUAL, Streamed, cycles
from unskew_lab.papers.streams import TWITTER_TOP, WIKIPEDIA_TOP, exponent_for

SLOW = (0.3, 1.0, 1.0, 1.0)


def predicted(scheme, keys, top, speeds=EQUAL, workers=24):
    stream = ZipfBatches("test", exponent_for(top, keys), keys, rows=60_000, batches=1)
    return Streamed(stream, scheme, 1.0, workers, speeds=(speeds,)).predicted


def test_balance_alone_is_worth_what_the_papers_saw():
    """Machines that differ: 3.44 times as much as hashing; 8 workers instead of 10: 1.6 times."""
    kg, pkg, sg, cg = (predicted(s, 100_000, TWITTER_TOP, SLOW) for s in ("KG", "PKG", "SG", "CG"))
    assert 2.7 <= cg / kg <= 4.3
    assert pkg / sg == pytest.approx(1.0, rel=0.1)  # the slow machine decides for both
    assert cg / pkg >= 2.5
    wikipedia = (20_000, WIKIPEDIA_TOP, EQUAL)
    ratio = predicted("PKG", *wikipedia, workers=8) / predicted("KG", *wikipedia, workers=10)
    assert 1.2 <= ratio <= 1.7


def test_the_fullest_worker_of_every_batch_decides():
    batches = [np.array([3.0, 1.0]), np.array([1.0, 1.0])]
    assert effective_workers(batches, [1.0, 1.0]) == pytest.approx(6 / 4)
    assert effective_workers([np.array([2.0, 2.0])], [1.0, 0.5]) == pytest.approx(1.0)


def test_rows_wait_for_the_rows_before_them():
    """Machines that differ: a row waits 1.15 times as long with hashing, and not twice."""

    def waits(scheme, workers=24, keys=100_000, top=TWITTER_TOP, speeds=SLOW):
        stream = ZipfBatches("test", exponent_for(top, keys), keys, rows=60_000, batches=1)
        return Streamed(stream, scheme, 1.0, workers, speeds=(speeds,)).predicted_latency

    assert waits("CG", speeds=EQUAL) == pytest.approx(60 / 24 / 2, rel=0.01)
    assert 1.05 <= waits("KG") / waits("CG") <= 1.3
    # The papers' ten workers for key grouping wait less than their eight for the others.
    wikipedia = {"keys": 20_000, "top": WIKIPEDIA_TOP, "speeds": EQUAL}
    assert waits("KG", 10, **wikipedia) < waits("PKG", 8, **wikipedia)
    two = [np.array([3.0, 1.0]), np.array([2.0, 2.0])]
    assert mean_wait(two, [1.0, 1.0]) == pytest.approx((9 + 1 + 4 + 4) / 2 / 8)
    assert mean_wait_virtual(6, [1.0, 0.5], 3) == pytest.approx(2.0)


def test_virtual_workers_go_by_speed():
    assert effective_virtual_workers([1.0, 1.0], 10) == 2.0
    assert effective_virtual_workers([1.0, 0.3], 100) == pytest.approx(1.3, rel=0.01)
    assert effective_virtual_workers([1.0, 0.3], 1) == pytest.approx(0.6)


def test_streams_are_the_same_for_all_schemes_and_others_in_each_draw():
    stream = ZipfBatches("test", 1.0, 100, rows=160, batches=2)
    first, again = (np.concatenate(list(stream.ids())) for _ in range(2))
    assert np.array_equal(first, again)
    assert [len(parts) for parts in stream.hashes()] == [SOURCES, SOURCES]
    other = ZipfBatches("test", 1.0, 100, rows=160, batches=2, seed=43, draw=1)
    assert not np.isin(first, np.concatenate(list(other.ids()))).any()


def test_speeds_change_in_equal_parts_of_the_stream():
    cell = Streamed(ZipfBatches("t", 1.0, 9, 8, batches=6), "KG", 1.0, speeds=(SLOW, EQUAL))
    assert [cell.speeds_in(batch) for batch in range(7)] == [SLOW] * 3 + [EQUAL] * 4
    assert len(SLOTS) == len(SLOW)


def test_work_is_slept_by_the_machines_speed_and_written_down(tmp_path, monkeypatch):
    slept = []
    monkeypatch.setattr("unskew.testing.cluster.emulation.time.sleep", slept.append)
    (tmp_path / "speed").write_text("0.5")
    monkeypatch.setenv(SPEED_FILE, str(tmp_path / "speed"))
    log = tmp_path / "log"
    log.mkdir()
    for _ in range(10):
        pacing.work_off(str(log), 7, 0.001)
    # 70 ms of work at half the speed, at least 20 ms at a time; the last rows wait for more.
    assert slept == pytest.approx([0.042] * 3)
    assert [rows for _, rows in pacing.done_in(str(log))] == [21] * 3
    pacing.work_off(str(log), 50, 0.001)
    assert sum(rows for _, rows in pacing.done_in(str(log))) == 110
    pacing.work_off(str(log), 7, 0.0)
    assert sum(slept) == pytest.approx(2 * 0.110)


def test_latency_counts_from_the_begin_of_a_batch():
    records = [
        BatchProgress.of(0, [4], 4.0, ended=104.0), BatchProgress.of(1, [4], 2.0, ended=107.0),
    ]  # fmt: skip
    done = [(101.0, 3), (103.0, 1), (106.0, 4)]
    found = list(cycles(records, done))
    assert [each.latency for each in found] == [(3 * 1 + 1 * 3) / 4, 1.0]
    assert [each.span for each in found] == [2.0, 0.0]
