"""What a stream learns from batch to batch, in a folder; no Spark session needed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.costs.stream_costs import REMEMBERED, StreamCosts, aged
from unskew._spark.planning.number_keys import keys_of_numbers
from unskew._spark.planning.run_records import MOST_BYTES, MOST_TASKS
from unskew._spark.planning.work_record import WorkRecord

MARK = "f"


def record(rows: int, seconds: float, key: int = 7, mark: str = MARK) -> WorkRecord:
    keys = np.array([key], dtype=np.uint64)
    return WorkRecord.of(keys, np.array([rows]), np.array([seconds]), fingerprint=mark)


def run(costs: StreamCosts, batch: int, *parts: WorkRecord) -> None:
    """The tasks of a batch, one for each record."""
    place = costs.start(batch, len(parts))
    assert place is not None
    for number, each in enumerate(parts):
        place.write(each, number, 0)


def rows_known(folder: Path, batch: int) -> int:
    """As a query knows that was started again."""
    seen = StreamCosts(str(folder), MARK, "cost").before(batch)
    return 0 if seen is None else seen.record.rows


def test_every_batch_counts_once_though_it_is_repeated(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "cost")
    assert costs.before(0) is None
    run(costs, 0, record(10, 1.0), record(10, 3.0))
    for _ in range(2):  # The driver failed after the batch, and before Spark knew of its end.
        assert costs.before(0) is None
        run(costs, 0, record(10, 1.0), record(10, 3.0))
    assert rows_known(tmp_path, 1) == 20
    run(costs, 0, record(10, 1.0))  # Left there, if the driver failed while it cleaned up.
    assert rows_known(tmp_path, 1) == 20
    run(costs, 1, record(5, 1.0))
    assert rows_known(tmp_path, 2) == 25
    assert [each.name for each in tmp_path.iterdir()] == ["costs"]


def test_what_batches_took_is_compared_with_what_was_known(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "key")
    two = [record(1000, 5.0), record(1000, 5.0, key=9)]
    run(costs, 0, *two)
    first = costs.before(1)
    assert first is not None
    assert (first.settled, first.untimed) == (False, 0)  # There was nothing to compare with.
    run(costs, 1, two[0], record(1000, 6.0, key=9))
    second = costs.before(2)
    assert second is not None
    assert (second.settled, second.untimed) == (True, 0)
    for batch in (5, 5):  # Though it is repeated, and also by a query that was started again.
        again = StreamCosts(str(tmp_path), MARK, "key").before(batch)
        assert again is not None
        assert (again.settled, again.untimed) == (True, 3)
        assert again.record.rows == 4000
    run(costs, 6, record(4000, 99.0, key=11))
    changed = costs.before(7)
    assert changed is not None
    assert (changed.settled, changed.untimed) == (False, 0)


def test_numbers_that_are_new_in_each_batch_are_compared_by_their_range(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "number")
    ones, drawn = np.ones(2000, dtype=np.int64), np.random.default_rng(1)
    for batch in range(2):
        values = 1 + drawn.pareto(1.5, 2000)
        seconds = np.minimum(values, 50.0)
        run(costs, batch, WorkRecord.of(keys_of_numbers(values), ones, seconds, fingerprint=MARK))
    seen = costs.before(2)
    assert seen is not None
    assert seen.settled


def test_few_rows_settle_nothing(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "key")
    for batch in range(3):
        run(costs, batch, record(100, 5.0), record(100, 5.0 + batch, key=9))
    seen = costs.before(3)
    assert seen is not None
    assert not seen.settled


def test_a_batch_of_which_tasks_are_missing_is_not_learned_from(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "cost")
    place = costs.start(0, 2)
    assert place is not None
    place.write(record(10, 1.0), 0, 0)
    assert costs.before(1) is None
    assert costs.start(1, MOST_TASKS + 1) is None


def test_the_time_of_a_batch_is_that_of_large_ones_a_while(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "cost")
    seen = []
    for batch, seconds in enumerate([8.0, 1.0, 1.0, 1.0, 1.0]):
        run(costs, batch, record(10, seconds))
        known = costs.before(batch + 1)
        assert known is not None
        seen.append(known.seconds)
    assert seen == [8.0, 4.0, 2.0, 1.0, 1.0]
    again = StreamCosts(str(tmp_path), MARK, "cost").before(5)
    assert again is not None
    assert again.seconds == float("inf")  # Nobody knows: it is not taken for short.


def test_costs_of_another_function_are_not_used(tmp_path):
    run(StreamCosts(str(tmp_path), "other", "cost"), 0, record(10, 1.0, mark="other"))
    assert rows_known(tmp_path, 1) == 0
    costs = StreamCosts(str(tmp_path), MARK, "cost")
    run(costs, 1, record(4, 1.0))
    assert rows_known(tmp_path, 2) == 4


def test_what_is_damaged_is_ignored_and_replaced(tmp_path, caplog):
    costs = StreamCosts(str(tmp_path), MARK, "cost")
    for batch, damage in enumerate([b"x" * 99, bytes(MOST_BYTES + 1), b""]):
        run(costs, batch, record(10, 1.0))
        assert rows_known(tmp_path, batch + 1) == 10
        (tmp_path / "costs").write_bytes(damage)
    assert "no work record" in caplog.text
    assert "more than" in caplog.text
    run(costs, 9, record(10, 1.0), record(10, 1.0))
    (tmp_path / "batch-9" / "part-1").write_bytes(b"x" * 99)
    assert costs.before(10) is None
    assert "ignored a batch of which a file is damaged" in caplog.text


def test_a_folder_that_cannot_be_written_ends_no_stream(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    costs = StreamCosts(str(tmp_path / "file" / "costs"), MARK, "cost")
    assert costs.before(0) is None
    assert costs.start(0, 1) is None
    assert "cannot be written" in caplog.text


def test_the_folder_does_not_grow(tmp_path):
    costs = StreamCosts(str(tmp_path), MARK, "cost")
    drawn = np.random.default_rng(1)
    for batch in range(6):
        keys = drawn.integers(0, 2**63, 20_000).astype(np.uint64)
        ones = np.ones(keys.size, dtype=np.int64)
        run(costs, batch, WorkRecord.of(keys, ones, drawn.random(keys.size), fingerprint=MARK))
    assert rows_known(tmp_path, 6) > REMEMBERED / 2
    assert sum(each.stat().st_size for each in tmp_path.rglob("*")) < MOST_BYTES


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e4)), min_size=1, max_size=30))
def test_old_costs_count_half_at_the_same_mean(pairs):
    rows, seconds = (np.array(each) for each in zip(*pairs, strict=True))
    keys = np.arange(rows.size, dtype=np.uint64) << np.uint64(50)
    made = WorkRecord.of(keys, rows, seconds, fingerprint=MARK, most=20)
    old = aged(made)
    if made.rows <= REMEMBERED:
        assert old == made
        return
    assert old.rows == pytest.approx(made.rows / 2, abs=rows.size)
    np.testing.assert_allclose(old.key_seconds / old.key_rows, made.key_seconds / made.key_rows)
    assert (old.key_rows > 0).all()
    assert old.fingerprint == MARK
